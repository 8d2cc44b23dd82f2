import Control
import DBus
import FoundationEssentials
import Gateway
import Glibc

/// `celestiad import FILE…`
enum ImportVerb {
    static let verb = Verb(
        name: "import", summary: "Take files from elsewhere into the queue.",
        discussion: [
            "Each file becomes a session of its own. The same content is taken once, whatever it is called. The files are "
                + "read with your permissions and left alone; a file that is reported as taken is durable in the queue.",
            "Of a folder, also what is in its subfolders is taken, as far as it is sound or pictures; names that begin "
                + "with a dot and symbolic links are left out.",
        ],
        positionals: [
            Positional(name: "FILE…", help: "Files or folders.", isRepeated: true, completes: .files)
        ],
        options: [
            .json,
            Option(
                name: "source", value: "KIND",
                help:
                    "Where they come from: dslr_import (default), mobile_photo, mobile_scan or watched_folder."
            ),
        ]
    ) { invocation throws(ControlError) in
        let client = try await invocation.connect()
        var report = ImportReport()
        for path in invocation.arguments.positionals {
            let files = try ImportList.files(at: path)
            for file in files {
                guard !Task.isCancelled else { throw ControlError(.cancelled, "interrupted") }
                let entry = await offer(file, client, invocation.arguments.value("source"))
                report.files.append(entry)
                if !invocation.wantsJSON { invocation.console.print([entry.line]) }
                if let error = entry.fatal { throw error }
            }
        }
        if invocation.wantsJSON { try invocation.console.printJSON(report) }
        return report.exitCode
    }

    private static func offer(_ path: String, _ client: ControlClient, _ source: String?) async
        -> ImportReport.Entry
    {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            return .init(path: path, error: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        var absolute: String?
        if let real = realpath(path, nil) {
            absolute = String(cString: real)
            free(real)
        }
        let name = (absolute ?? path).split(separator: "/").last.map(String.init) ?? path
        let request = ImportRequest(file: SharedFD(descriptor), name: name, path: absolute, source: source)
        do throws(ControlError) {
            let outcome = try await client.importFile(request)
            return .init(path: path, session: outcome.session, outcome: outcome.outcome)
        } catch {
            let isOfOne = error.code == .invalidArgument || error.code == .failed
            return .init(path: path, error: error.message, fatal: isOfOne ? nil : error)
        }
    }
}

/// What became of each file.
struct ImportReport: Encodable {
    struct Entry: Encodable {
        let path: String
        var session: String?
        var outcome: String?
        var error: String?
        /// What makes going on senseless.
        var fatal: ControlError?

        private enum CodingKeys: String, CodingKey { case path, session, outcome, error }

        var line: String {
            let name = Text.clean(path)
            guard let session else { return "\(name): \(Text.clean(error ?? "not taken"))" }
            let id = Text.clean(String(session.prefix(8)))
            return outcome == "known"
                ? "\(name): is here already, in session \(id)" : "\(name): taken as session \(id)"
        }
    }

    var files: [Entry] = []

    var exitCode: ExitCode {
        let refused = files.count { $0.session == nil }
        if files.isEmpty { return .nothingToDo }
        return refused == 0 ? .success : refused == files.count ? .failure : .partial
    }
}

/// The files that a path of the command line stands for.
enum ImportList {
    private static let maximumDepth = 32

    /// A file stands for itself, whatever it is; a folder for what can be imported of it.
    static func files(at path: String) throws(ControlError) -> [String] {
        var buffer = stat()
        guard stat(path, &buffer) == 0 else {
            throw ControlError(.invalidArgument, "\(Text.clean(path)): \(String(cString: strerror(errno)))")
        }
        guard buffer.st_mode & S_IFMT == S_IFDIR else { return [path] }
        return try walk(path, depth: 0)
    }

    private static func walk(_ folder: String, depth: Int) throws(ControlError) -> [String] {
        guard depth < maximumDepth else { return [] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw ControlError(.invalidArgument, "the folder \(Text.clean(folder)) cannot be read")
        }
        var files: [String] = []
        for name in names.sorted() where !name.hasPrefix(".") {
            let path = "\(folder)/\(name)"
            var buffer = stat()
            guard lstat(path, &buffer) == 0 else { continue }
            switch buffer.st_mode & S_IFMT {
            case S_IFDIR: files += try walk(path, depth: depth + 1)
            case S_IFREG where ImportMedia.type(of: name) != nil: files.append(path)
            default: continue
            }
        }
        return files
    }
}
