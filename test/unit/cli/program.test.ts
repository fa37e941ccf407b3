import { EXIT } from '../../../cli/exit-codes';
import { PROCESSES } from '../../../cli/processes/processes';
import { buildProgram } from '../../../cli/program';

const argv = (...args: readonly string[]) => ['node', 'slipway', ...args];

it.each(
  PROCESSES.flatMap(({ name }) => [
    { name, args: ['--kubeconfig', 'X', name] },
    { name, args: ['--no-color', name, '--metrics-port', '1', 'more'] },
    { name, args: ['--no-color', name, '--help'] },
  ]),
)('refuses $args with the right order', async ({ name, args }) => {
  const exit = jest.fn();
  const context = jest.fn();
  const program = buildProgram({ exit, context }).exitOverride();

  await expect(program.parseAsync(argv(...args))).rejects.toMatchObject({
    name: 'CliError',
    exitCode: EXIT.USAGE,
    message: expect.stringContaining(`slipway ${name} [flags]`) as unknown,
  });
  expect(exit).not.toHaveBeenCalled();
  expect(context).not.toHaveBeenCalled();
});

it('refuses --timeout without --watch instead of ignoring it', async () => {
  const exit = jest.fn();
  const context = jest.fn();
  const program = buildProgram({ exit, context });

  await expect(
    program.parseAsync(argv('rollout', 'status', 'worker', '--timeout', '5m')),
  ).rejects.toMatchObject({
    exitCode: EXIT.USAGE,
    message: expect.stringContaining('--watch') as unknown,
  });
  expect(context).not.toHaveBeenCalled();
});
