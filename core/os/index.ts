/** The operating system as data: kernel arguments and extension packages. No command runs here. */

export {
  extensionPackageChanges,
  rpmOstreePackageArguments,
  type PackageChanges,
} from './extensions';
export {
  kernelArgumentChanges,
  rpmOstreeKernelArguments,
  splitKernelArguments,
  type KernelArgumentChanges,
} from './kernel-arguments';
