/** `preset` = as the distribution's preset files. */
export interface EnablementChange {
  readonly unit: string;
  readonly wish: 'enable' | 'disable' | 'preset';
}

/**
 * As `systemctl is-enabled`; `static` = no [Install] section, `indirect` = a disabled template with
 * an enabled instance.
 */
export type Enablement = 'enabled' | 'indirect' | 'disabled' | 'static' | 'masked' | 'absent';
