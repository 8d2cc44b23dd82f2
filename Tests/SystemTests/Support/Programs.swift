import Foundation

/// The programs of this build.
enum Programs {
    static let celestiad = products + "/celestiad"
    static let recorder = products + "/celestia-recorder"

    /// The folder that the test bundle was built into.
    private static var products: String {
        let arguments = CommandLine.arguments
        let bundle: String =
            if let flag = arguments.firstIndex(of: "--test-bundle-path"), flag + 1 < arguments.count {
                arguments[flag + 1].replacing(/\.xctest\/.*/, with: ".xctest")
            } else {
                arguments[0]
            }
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }
}
