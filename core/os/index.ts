export {
  extensionPackageChanges,
  rpmOstreePackageArguments,
  type PackageChanges,
} from './extensions';
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
  type KernelArgumentChanges,
} from './kernel-arguments';
