import { readYamlDocument } from '../../../../adapters/manifests';
import { fieldText } from '../../../../core/field-path';
import { strictKubeletConfigProblems } from '../../../../core/kubelet';

const problemsOf = (text: string) =>
  strictKubeletConfigProblems(text, readYamlDocument).map(
    ({ path, problem, fix }) => `${fieldText(path)}: ${problem}: ${fix}`,
  );

describe('the strict reading of a KubeletConfig', () => {
  test('has nothing to say about what a kubelet hears', () => {
    expect(
      problemsOf(
        '{"maxPods":5,"evictionHard":{"memory.available":"5%"},"syncFrequency":"1m","registryPullQPS":null,"logging":{"flushFrequency":5}}',
      ),
    ).toEqual([]);
    expect(problemsOf('maxPods: 5\ncpuManagerPolicy: static\n')).toEqual([]);
  });

  const unknown = 'no kubelet knows this field; it has no effect';
  const text = 'write a text; put numbers and true or false into quotes';
  test.each([
    ['{"maxPod":5}', `spec.kubeletConfig.maxPod: ${unknown}: write maxPods, or remove it`],
    ['{"zzz":5}', `spec.kubeletConfig.zzz: ${unknown}: remove it`],
    ['{"MaxPods":5}', 'spec.kubeletConfig.MaxPods: the field is called maxPods: write maxPods'],
    ['{"logging":{"verbose":1}}', `spec.kubeletConfig.logging.verbose: ${unknown}: remove it`],
    ['{"maxPods":"5"}', 'spec.kubeletConfig.maxPods: is a text: write an integer, without quotes'],
    [
      '{"maxPods":3000000000}',
      'spec.kubeletConfig.maxPods: cannot hold 3000000000: write an integer from -2147483648 to 2147483647',
    ],
    ['cpuManagerPolicy: 5', `spec.kubeletConfig.cpuManagerPolicy: is a number: ${text}`],
    [
      '{"evictionHard":{"memory.available":5}}',
      `spec.kubeletConfig.evictionHard["memory.available"]: is a number: ${text}`,
    ],
    [
      '{"reservedMemory":[{"numaNode":0,"limit":{}}]}',
      `spec.kubeletConfig.reservedMemory[0].limit: ${unknown}: write limits, or remove it`,
    ],
    [
      '{"syncFrequency":"soon"}',
      'spec.kubeletConfig.syncFrequency: cannot be read: time: invalid duration "soon": write a duration in quotes, such as "1m30s"',
    ],
    ['[]', 'spec.kubeletConfig: is a list: write an object with fields'],
    [
      '{"a":',
      'spec.kubeletConfig: is neither JSON nor YAML: write the fields of a KubeletConfiguration as an object',
    ],
  ])('%s', (config, problem) => {
    expect(problemsOf(config)).toEqual([problem]);
  });

  test('reports all of them in order', () => {
    const problems = problemsOf('{"maxPods":"5","noSuchField":1,"tlsCipherSuites":[1]}');
    expect(problems.map((each) => each.split(':')[0])).toEqual([
      'spec.kubeletConfig.maxPods',
      'spec.kubeletConfig.noSuchField',
      'spec.kubeletConfig.tlsCipherSuites[0]',
    ]);
  });
});
