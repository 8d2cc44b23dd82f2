internal import FoundationEssentials
internal import Glibc
internal import ObjectTransfer
internal import Recorder

/// A folder of captures as it lies on the disk: one capture per sub-folder, and one for files beside them.
/// simulators/README.md describes the format.
package struct CaptureFolder: Sendable, Hashable {
    struct File: Sendable, Hashable {
        let name: String
        let path: String
        let kind: Manifest.Kind
        let mimeType: String
        let size: UInt32
        let modified: Int64
        let sha256: String?
    }

    struct Capture: Sendable, Hashable {
        let name: String
        /// By name.
        let files: [File]
        let description: CaptureDescription
    }

    /// By name.
    var captures: [Capture] = []
    /// What was left out, and why, for a person.
    package private(set) var remarks: [String] = []

    private static let descriptionName = "capture.json"
    private static let maximumDescription = 1 << 20

    /// A folder without captures.
    package init() {}

    /// Looks at the folder; with `hashing`, also computes the SHA-256 of every file. Throws `captures` when the
    /// folder cannot be read, or a capture.json is not as described.
    package init(path: String, hashing: Bool = false) throws(RecorderModelError) {
        let top = Self.lastComponent(of: path)
        var loose: [String] = []
        for name in try Self.entries(of: path) {
            let entry = path + "/" + name
            guard let status = Self.status(of: entry) else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                try add(name, at: entry, try Self.entries(of: entry), hashing: hashing)
            } else {
                loose.append(name)
            }
        }
        if loose.contains(where: { MediaType(fileName: $0) != nil }) {
            try add(top, at: path, loose, hashing: hashing)
            captures.sort { $0.name < $1.name }
        }
    }

    private mutating func add(
        _ name: String, at path: String, _ names: [String], hashing: Bool
    ) throws(RecorderModelError) {
        let description =
            names.contains(Self.descriptionName)
            ? try CaptureDescription(
                file: path + "/" + Self.descriptionName, maximum: Self.maximumDescription)
            : CaptureDescription()
        var files: [File] = []
        for fileName in names where fileName != Self.descriptionName {
            let file = path + "/" + fileName
            let described = description.files?.first { $0.name == fileName }
            guard let status = Self.status(of: file), status.st_mode & S_IFMT == S_IFREG else { continue }
            guard let media = described?.media ?? MediaType(fileName: fileName) else {
                remarks.append("\(file) is neither audio nor photo by its name")
                continue
            }
            guard let size = UInt32(exactly: status.st_size) else {
                remarks.append("\(file) is larger than an object can be (4 GiB - 1)")
                continue
            }
            files.append(
                File(
                    name: fileName, path: file, kind: media.kind, mimeType: media.mimeType, size: size,
                    modified: Int64(status.st_mtim.tv_sec),
                    sha256: hashing ? try Self.sha256(of: file) : nil))
        }
        for described in description.files ?? [] where !names.contains(described.name) {
            throw RecorderModelError(
                .captures, "\(path) has no file \(described.name), which its capture.json names")
        }
        guard !files.isEmpty else {
            remarks.append("\(path) holds no audio or photo")
            return
        }
        captures.append(Capture(name: name, files: files, description: description))
    }

    /// The names in a folder, sorted, without hidden ones.
    private static func entries(of path: String) throws(RecorderModelError) -> [String] {
        guard let directory = opendir(path) else {
            throw RecorderModelError(
                .captures, "cannot read the captures folder \(path): \(systemText(errno))")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static func lastComponent(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? "captures"
    }

    private static func sha256(of path: String) throws(RecorderModelError) -> String {
        guard let reader = ContentReader(.file(path: path)) else {
            throw RecorderModelError(.captures, "cannot read \(path): \(systemText(errno))")
        }
        let hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = reader.read(at: offset, into: buffer)
            guard count > 0 else { return hexDigits(hash.finish()) }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}

/// The system's text for an errno value.
func systemText(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
