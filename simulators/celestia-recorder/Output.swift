import Glibc

/// Lines for people and scripts, written at once.
enum Output {
    static func print(_ line: String) {
        write(line + "\n", to: 1)
    }

    static func complain(_ line: String) {
        write("celestia-recorder: \(line)\n", to: 2)
    }

    static func write(_ text: String, to fd: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
