/// Which celestiad this is.
package enum Version {
    /// As in the Debian package.
    package static let number = "0.1.0"
}
