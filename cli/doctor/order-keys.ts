/** The keys by which machines know orders: those of the cluster, and those that the installer gives to machines. */

import { messageOf } from '../../core/errors';
import { NAMESPACE, ORDER_KEYS_CONFIG_MAP } from '../../core/names';
import { keyOf, type OrderKeys, readOrderKeys } from '../../core/orders';
import { ok, problem, warning, type Finding } from './finding';
import type { DoctorCluster } from './ports';

const KEYS = `configmap ${NAMESPACE}/${ORDER_KEYS_CONFIG_MAP}`;
const INSTALLER = 'configmap slipway-installer/slipway-host-settings';
const LOOK = 'kubectl -n slipway logs -l app.kubernetes.io/name=slipway-cluster-worker --tail=-1';
const MEND = 'docs/security.md#keys-and-their-rotation';

/** Of processes that run in the cluster. */
export async function orderKeys(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const [text, settings] = await Promise.all([cluster.orderKeys(), cluster.installerSettings()]);
  if (text === undefined) return [problem(KEYS, 'is not there, so no order is signed', LOOK)];
  try {
    const keys = readOrderKeys(text);
    return [ofCluster(keys), ...(settings === undefined ? [] : [ofInstaller(settings, keys)])];
  } catch (error) {
    return [problem(KEYS, `cannot be read: ${messageOf(error)}`, MEND)];
  }
}

function ofCluster({ serial, keys: [present, ...earlier] }: OrderKeys): Finding {
  const more = earlier.map(({ id, until = '' }) => `, ${id} until ${until}`).join('');
  return ok(KEYS, `orders are signed with key ${present?.id ?? ''}${more} (serial ${serial})`);
}

function ofInstaller(settings: Readonly<Record<string, string>>, keys: OrderKeys): Finding {
  const text = settings['order-keys.json'];
  if (text === undefined) {
    return problem(INSTALLER, 'has no order-keys.json: machines refuse every order', MEND);
  }
  try {
    const known = readOrderKeys(text).keys.some(({ id }) => keyOf(keys, id) !== undefined);
    if (known) return ok(INSTALLER, 'has keys of this cluster');
    return warning(INSTALLER, 'has none of these keys: write the present ones into it', MEND);
  } catch (error) {
    return problem(INSTALLER, `order-keys.json cannot be read: ${messageOf(error)}`, MEND);
  }
}
