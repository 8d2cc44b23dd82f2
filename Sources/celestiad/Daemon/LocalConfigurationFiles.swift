import EventLoop
import Gateway
import Glibc

/// The configuration as it lies on the disk.
struct LocalConfigurationFiles: ConfigurationFiles {
    func text(of path: String) throws(GatewayError) -> String? {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else {
            guard errno != ENOENT else { return nil }
            throw GatewayError(
                .configuration,
                "the configuration file \(path) cannot be read: \(SystemError("open").description)",
                hint: "Make it readable for the user that celestiad runs as.")
        }
        let file = OwnedFD(fd)
        var info = stat()
        guard fstat(fd, &info) == 0, [S_IFREG, S_IFCHR, S_IFDIR].contains(info.st_mode & S_IFMT) else {
            throw GatewayError(
                .configuration,
                "the configuration file \(Terminal.printable(path)) is a pipe, a socket or a disk",
                hint: "Put a file there, or take it away.")
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= 1 << 20 {
            let count = Glibc.read(file.rawValue, &buffer, buffer.count)
            guard count >= 0 else {
                throw GatewayError(
                    .configuration,
                    "the configuration file \(path) cannot be read: \(SystemError("read").description)",
                    hint: "Name another with --config; it is an INI file.")
            }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw GatewayError(
                .configuration, "the configuration file \(path) is not UTF-8 text",
                hint: "It is an INI file; see celestiad.conf(5).")
        }
        return text
    }

    func names(in folder: String) throws(GatewayError) -> [String] {
        guard let directory = opendir(folder) else {
            guard errno != ENOENT else { return [] }
            throw GatewayError(
                .configuration,
                "the folder \(folder) cannot be read: \(SystemError("opendir").description)",
                hint: "Make it readable for the user that celestiad runs as.")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.first != "." { names.append(name) }
        }
        return names
    }
}
