/** The way into one repository: scheme, certificates, and what the registry wants to be shown. */

import type { IncomingMessage } from 'node:http';
import { fail, messageOf } from '../../core/errors';
import { textAt } from '../../core/values-at';
import { basicFor } from './credentials';
import { isInsecure } from './insecure';
import { authoritiesFor, type Environment } from './places';
import { getFrom, textOf, type Trust } from './request';

/** The registry of `docker.io` has another address than its name. */
const ADDRESSES: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };
const LOOPBACK = /^(localhost|127\.[0-9.]+)(:[0-9]+)?$/;
const MAX_TOKEN = 1024 * 1024;

interface Options {
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export class Door {
  readonly #host: string;
  readonly #name: string;
  readonly #options: Options;
  #trust: Trust | undefined;
  /** Once it has answered. */
  #origin: string | undefined;
  #authorization: string | undefined;
  #basic: string | undefined;

  /** @param name - of the repository, with its host */
  constructor(host: string, name: string, options: Options) {
    this.#host = host;
    this.#name = name;
    this.#options = options;
  }

  get hasCredentials(): boolean {
    return this.#basic !== undefined;
  }

  async get(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const answer = await this.#send(path, headers);
    const challenge = answer.headers['www-authenticate'];
    if (answer.statusCode !== 401 || challenge === undefined) return answer;
    const authorization = await this.#authorize(challenge);
    if (authorization === undefined) return answer;
    answer.resume();
    this.#authorization = authorization;
    return this.#send(path, headers);
  }

  async #send(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const shown = this.#authorization;
    const all = { ...headers, ...(shown === undefined ? {} : { authorization: shown }) };
    return this.#ask((origin) => new URL(path, origin), all);
  }

  /** Over HTTPS; over HTTP where the registry is insecure, or on this machine and speaks nothing else. */
  async #ask(
    at: (origin: string) => URL,
    headers: Readonly<Record<string, string>>,
  ): Promise<IncomingMessage> {
    const { env, signal } = this.#options;
    this.#trust ??= {
      authorities: await authoritiesFor(this.#host, env),
      insecure: await isInsecure(this.#name, env),
    };
    const request = { headers, trust: this.#trust, signal };
    const address = ADDRESSES[this.#host] ?? this.#host;
    if (this.#origin !== undefined) return getFrom(at(this.#origin), request);
    try {
      const answer = await getFrom(at(`https://${address}`), request);
      this.#origin = `https://${address}`;
      return answer;
    } catch (error) {
      const isPlain = this.#trust.insecure || (LOOPBACK.test(this.#host) && speaksNoTls(error));
      if (!isPlain) throw this.#unreachable(error);
      const answer = await getFrom(at(`http://${address}`), request);
      this.#origin = `http://${address}`;
      return answer;
    }
  }

  /** @see https://distribution.github.io/distribution/spec/auth/token/ */
  async #authorize(challenge: string): Promise<string | undefined> {
    const { env } = this.#options;
    this.#basic ??= await basicFor(this.#name, env);
    const basic = this.#basic === undefined ? undefined : `Basic ${this.#basic}`;
    if (/^basic\b/i.test(challenge)) return basic;
    const realm = parameter(challenge, 'realm');
    if (!/^bearer\b/i.test(challenge) || realm === undefined) return undefined;
    const url = new URL(realm);
    for (const name of ['service', 'scope']) {
      const value = parameter(challenge, name);
      if (value !== undefined) url.searchParams.set(name, value);
    }
    if (url.protocol !== 'https:' && this.#origin?.startsWith('http:') !== true) {
      throw new Error(`it wants a token of ${url.origin}, which is not encrypted`);
    }
    return this.#token(url, basic);
  }

  async #token(url: URL, basic: string | undefined): Promise<string | undefined> {
    const { signal } = this.#options;
    const headers = basic === undefined ? {} : { authorization: basic };
    const trust = this.#trust ?? { authorities: [], insecure: false };
    const answer = await getFrom(url, { headers, trust, signal });
    const body = await textOf(answer, MAX_TOKEN);
    if (answer.statusCode !== 200) return undefined;
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    const token = textAt(parsed, 'token') ?? textAt(parsed, 'access_token');
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  #unreachable(error: unknown): Error {
    const fix = speaksNoTls(error)
      ? '; it speaks no HTTPS: say so with insecure = true in registries.conf'
      : '';
    return fail(
      'PullFailed',
      `the registry ${this.#host} does not answer (${messageOf(error)})${fix}`,
    );
  }
}

function speaksNoTls(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return code === 'EPROTO' || code.startsWith('ERR_SSL');
}

function parameter(challenge: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(challenge)?.[1];
}
