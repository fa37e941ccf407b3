export { extensionPackageChanges, rpmOstreePackageArguments } from './extensions';
export { imageDigest, sameImage } from './images';
export {
  grubSyntaxIn,
  hasArgument,
  kernelArgumentChanges,
  missingArguments,
  rpmOstreeKernelArguments,
  sameArguments,
  singleArguments,
  spelledAs,
  splitKernelArguments,
  withoutArguments,
  withoutArgumentValue,
} from './kernel-arguments';
export { REFERENCES_FILE, releaseIn, type Release, type ReleaseStream } from './release';
