/** Decodes for the UI of a development server, without a login: for its page alone, on its address. */

import { createLogger } from '../process/logging';
import { createOpenCodecApp } from '../server/codec/app';
import type { InstalledPayloadKeys } from './payload-keys';

export interface UiCodec {
  readonly url: string;
  stop(): Promise<void>;
}

interface ServedUi {
  readonly ip: string;
  readonly uiPort: number;
  readonly payloadKeys: Pick<InstalledPayloadKeys, 'codec'>;
}

export async function startUiCodec({ ip, uiPort, payloadKeys }: ServedUi): Promise<UiCodec> {
  const app = createOpenCodecApp({
    codec: payloadKeys.codec,
    origin: `http://${ip}:${uiPort}`,
    logger: createLogger({ process: 'codec for the Temporal UI', level: 'warn' }),
  });
  const url = await app.listen({ host: ip, port: 0 });
  return { url, stop: () => app.close() };
}
