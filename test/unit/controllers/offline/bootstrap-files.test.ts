import { parse } from 'yaml';
import { readYaml } from '../../../../adapters/manifests';
import { bootstrapFiles } from '../../../../controllers/offline';
import { configText, poolText, renderTexts } from './manifests';

describe('what a server without a cluster reads', () => {
  it.each([
    ['a NEL', '\\u0085'],
    ['a separator of lines', '\\u2028'],
    ['a separator of paragraphs', '\\u2029'],
    ['an escape', '\\u001b'],
  ])('is what was rendered, whoever reads it, also with %s', (_what, character) => {
    const contents = `"[Unit]\\nDescription=a ${character}  b\\n"`;
    const spec = `  config:
    ignition: {version: 3.2.0}
    systemd: {units: [{name: a.service, contents: ${contents}}]}
`;
    const result = renderTexts({
      'pool.yaml': poolText('master'),
      'a.yaml': configText('00-master', 'master', spec),
    });
    expect(result.findings).toEqual([]);
    const rendered = result.pools[0]?.rendered;

    const text = bootstrapFiles(result).get(`machine-configs/${rendered?.name}.yaml`) ?? '';

    expect(readYaml(text).documents[0]?.value).toMatchObject({ spec: rendered?.spec });
    expect(parse(text)).toMatchObject({ spec: rendered?.spec });
  });
});
