import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Inhibitor, rebootThroughSystemd } from '../../../../adapters/host';
import { blockersIn } from '../../../../adapters/host/reboot';

const answer = (...entries: readonly (readonly (string | number)[])[]) =>
  JSON.stringify({ type: 'a(ssssuu)', data: [entries] });
const BACKUP = ['shutdown:sleep', 'backup', 'copies a disk', 'block', 0, 77];
const KUBELET = ['shutdown', 'kubelet', 'ends pods', 'delay', 0, 78];
const LID = ['handle-lid-switch', 'desktop', 'closes', 'block', 0, 79];

describe('inhibitors', () => {
  it('are those that block a shutdown', () => {
    expect(blockersIn(answer(KUBELET, BACKUP, LID))).toEqual([
      { who: 'backup', why: 'copies a disk', pid: 77 },
    ]);
    expect(blockersIn('{"type":"a(ssssuu)","data":[[]]}')).toEqual([]);
    expect(blockersIn('[]')).toEqual([]);
  });
});

describe('a reboot', () => {
  let directory: string;
  let done: string;
  let abort: AbortController;
  let blocked: { names: readonly string[]; isOver: boolean }[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-reboot-'));
    done = join(directory, 'done');
    abort = new AbortController();
    blocked = [];
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function script(name: string, text: string): string {
    const file = join(directory, name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  const options = (inhibitors: string, more: object = {}) => ({
    inhibitorSeconds: 0,
    shutdownSeconds: 0,
    pollMs: 1,
    systemctl: script('systemctl', `echo "$*" >> ${done}`),
    busctl: script('busctl', inhibitors),
    onBlocked: (blockers: readonly Inhibitor[], isOver: boolean) => {
      blocked.push({ names: blockers.map(({ who }) => who), isOver });
    },
    ...more,
  });

  it('is asked of systemd, and is a failure when the machine stays up', async () => {
    const reboot = rebootThroughSystemd('why not', abort.signal, options(`echo '${answer()}'`));

    await expect(reboot).rejects.toThrow('did not go down within 0 s');
    expect(readFileSync(done, 'utf8')).toBe(
      'reboot --check-inhibitors=no --no-wall --message=slipway: why not\n',
    );
    expect(blocked).toEqual([]);
  });

  it('goes on without logind', async () => {
    await expect(rebootThroughSystemd('x', abort.signal, options('exit 1'))).rejects.toThrow(
      'did not go down',
    );
    expect(existsSync(done)).toBe(true);
  });

  it('waits for programs that block it, and names them when they take too long', async () => {
    const busctl = `echo '${answer(BACKUP)}'`;

    await expect(rebootThroughSystemd('x', abort.signal, options(busctl))).rejects.toThrow();

    expect(blocked).toEqual([{ names: ['backup'], isOver: true }]);
    expect(existsSync(done)).toBe(true);
  });

  it('does not happen while they block it, and does as soon as they are gone', async () => {
    const flag = join(directory, 'free');
    const busctl = `[ -e ${flag} ] && echo '${answer(KUBELET)}' || echo '${answer(BACKUP)}'`;
    const more = {
      inhibitorSeconds: 600,
      onBlocked: () => {
        expect(existsSync(done)).toBe(false);
        writeFileSync(flag, '');
      },
    };

    await expect(rebootThroughSystemd('x', abort.signal, options(busctl, more))).rejects.toThrow(
      'did not go down',
    );
    expect(existsSync(done)).toBe(true);
  });

  it('ends well when systemd ends the process', async () => {
    const given = options(`echo '${answer()}'`, { shutdownSeconds: 600 });
    const reboot = rebootThroughSystemd('x', abort.signal, given);
    abort.abort();

    await expect(reboot).resolves.toBeUndefined();
  });

  it('says so when systemd does not want to', async () => {
    const given = options(`echo '${answer()}'`, {
      systemctl: script('refusing', 'echo "Refusing" >&2; exit 1'),
    });

    await expect(rebootThroughSystemd('x', abort.signal, given)).rejects.toThrow(/Refusing/);
  });
});
