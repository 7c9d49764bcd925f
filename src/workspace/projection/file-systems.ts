/** What is known of file systems by their `statfs` type. */
import { statfsSync } from 'node:fs';

/**
 * Where every change goes through this kernel, so that inotify tells of it. Others (NFS, 9p, FUSE,
 * virtiofs, CIFS) change without a word.
 */
const local: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58_46_53_42, // xfs
  0x91_23_68_3e, // btrfs
  0xf2_f5_20_10, // f2fs
  0x01_02_19_94, // tmpfs
  0x85_84_58_f6, // ramfs
  0x2f_c1_2f_c1, // zfs
  0xca_45_1a_4e, // bcachefs
  0x4d44, // vfat
  0x20_11_ba_b0, // exfat
  0x79_4c_76_30, // overlayfs
  0x31_53_46_4a, // jfs
  0x52_65_49_73, // reiserfs
  0x34_34, // nilfs2
]);

/** Where a directory has two links and one more for each directory in it. */
const countsDirectories: ReadonlySet<number> = new Set([0xef53, 0x58_46_53_42, 0x01_02_19_94]);

function typeOf(name: string): number | null {
  try {
    // Types come as signed 32 bits from some kernels.
    return statfsSync(name).type >>> 0;
  } catch {
    return null;
  }
}

/** Whether inotify tells of every change on the file system of `name`. */
export function isInotifyReliable(name: string): boolean {
  const type = typeOf(name);
  return type !== null && local.has(type);
}

/** Whether two links mean that a directory holds no directory. */
export function linksCountDirectories(name: string): boolean {
  const type = typeOf(name);
  return type !== null && countsDirectories.has(type);
}
