/** Whether units are enabled, and should be. */

/** How one unit should be enabled; `preset` = as the distribution's preset files say. */
export interface EnablementChange {
  readonly unit: string;
  readonly wish: 'enable' | 'disable' | 'preset';
}

/**
 * As `systemctl is-enabled` answers, as far as it matters; `static` = has no [Install] section, `indirect` =
 * a template that is not enabled itself, and an instance of it is.
 */
export type Enablement = 'enabled' | 'indirect' | 'disabled' | 'static' | 'masked' | 'absent';
