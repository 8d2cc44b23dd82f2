internal import CLinux

/// File systems on which a read or a write can wait for somebody else, and with it everything on the loop's thread.
package enum SlowFileSystem {
    /// FUSE, NFS, CIFS, SMB2, 9p (linux/magic.h).
    private static let kinds: Set<UInt32> = [0x6573_5546, 0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997]

    /// Whether the descriptor's file is on one.
    package static func holds(_ fd: Int32) -> Bool {
        kinds.contains(celestiad_file_system(fd))
    }
}
