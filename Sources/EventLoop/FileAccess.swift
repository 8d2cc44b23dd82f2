internal import CLinux

/// What a file's mode does not say of who may use it.
package enum FileAccess {
    /// Whether an access list (acl(5)) goes beyond the mode.
    package static func hasList(_ path: String) -> Bool {
        celestiad_has_access_list(path) != 0
    }
}
