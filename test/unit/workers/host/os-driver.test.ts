import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chooseDriver, createOsDriver } from '../../../../workers/host/os-driver';

describe('the OS driver of a machine', () => {
  let root: string;
  let bin: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-os-'));
    bin = join(root, 'usr/bin');
    mkdirSync(bin, { recursive: true });
    mkdirSync(join(root, 'run'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const program = (name: string, mode = 0o755) => {
    writeFileSync(join(bin, name), '#!/bin/sh\n');
    chmodSync(join(bin, name), mode);
  };
  const bootedByOstree = () => writeFileSync(join(root, 'run/ostree-booted'), '');
  const choose = () => chooseDriver('auto', root, [join(root, 'no'), bin].join(delimiter));

  it('is none where the system is not image-based, whatever is installed', () => {
    program('rpm-ostree');

    expect(choose()).toMatchObject({
      name: 'none',
      why: expect.stringMatching(/not image-based/) as string,
    });
  });

  it('is that of the first program that is there', () => {
    bootedByOstree();
    program('slipway-ostree');
    expect(choose()).toMatchObject({ name: 'ostree', program: join(bin, 'slipway-ostree') });
    program('bootc');
    expect(choose()).toMatchObject({ name: 'bootc' });
    program('rpm-ostree', 0o644);
    expect(choose()).toMatchObject({ name: 'bootc' });
    program('rpm-ostree');
    expect(choose()).toMatchObject({
      name: 'rpm-ostree',
      why: `booted by ostree, and ${join(bin, 'rpm-ostree')} is there`,
    });
  });

  it('is refused with what is missing where nothing fits', () => {
    bootedByOstree();

    expect(choose).toThrow(/none of rpm-ostree, bootc, slipway-ostree is in the PATH or in/);
  });

  it('is what the setting says', () => {
    expect(chooseDriver('bootc', root, '')).toMatchObject({ name: 'bootc' });
  });

  describe('in the middle of an update', () => {
    const chooseFor = (begunWith: 'rpm-ostree' | 'bootc' | 'ostree' | 'none' | 'simulated') =>
      chooseDriver('auto', root, bin, begunWith);
    beforeEach(() => {
      bootedByOstree();
      program('rpm-ostree');
      program('slipway-ostree');
    });

    it('stays what the update was begun with, whatever the new image brings', () => {
      expect(chooseFor('ostree')).toEqual({
        name: 'ostree',
        why: 'an unfinished update was begun with it',
        program: join(bin, 'slipway-ostree'),
      });
      expect(chooseFor('none')).toMatchObject({ name: 'none' });
    });

    it('stays so where its program is gone, and says that', () => {
      expect(chooseFor('bootc')).toEqual({
        name: 'bootc',
        why: 'an unfinished update was begun with it, although bootc is not there any more',
      });
    });

    it('is chosen as ever after a simulated one', () => {
      expect(chooseFor('simulated')).toMatchObject({ name: 'rpm-ostree' });
    });

    it('is what the setting says all the same', () => {
      expect(chooseDriver('rpm-ostree', root, bin, 'ostree')).toMatchObject({ name: 'rpm-ostree' });
    });
  });

  it.each(['rpm-ostree', 'bootc', 'ostree', 'none'] as const)('%s is made by its name', (name) => {
    expect(createOsDriver(chooseDriver(name, root, bin), root)).toMatchObject({
      name,
      managesOs: name !== 'none',
      ...(name === 'none' ? {} : { checkBoot: expect.any(Function) as unknown }),
    });
  });
});
