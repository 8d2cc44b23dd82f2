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
            for item in ImportList.items(at: RawArgument.path(path)) {
                guard !Task.isCancelled else { throw ControlError(.cancelled, "interrupted") }
                let entry = await take(item, client, invocation.arguments.value("source"))
                report.files.append(entry)
                if !invocation.wantsJSON { invocation.console.print([entry.line]) }
                guard let error = entry.fatal else { continue }
                guard invocation.wantsJSON else { throw error }
                try invocation.console.printJSON(report)
                return error.code.exitCode
            }
        }
        if invocation.wantsJSON { try invocation.console.printJSON(report) }
        return report.exitCode
    }

    private static func take(_ item: ImportList.Item, _ client: ControlClient, _ source: String?) async
        -> ImportReport.Entry
    {
        switch item {
        case .file(let path): await offer(path, client, source)
        case .unusable(let path, let reason): .init(path: path.text, error: reason)
        }
    }

    private static func offer(_ path: FilePath, _ client: ControlClient, _ source: String?) async
        -> ImportReport.Entry
    {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else {
            return .init(path: path.text, error: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        let absolute = path.absolute
        let name = (absolute ?? path).name.text
        let request = ImportRequest(
            file: SharedFD(descriptor), name: name, path: absolute?.text, source: source)
        do throws(ControlError) {
            let outcome = try await client.importFile(request)
            return .init(path: path.text, session: outcome.session, outcome: outcome.outcome)
        } catch {
            // One that does not fit says nothing about the next.
            let isOfOne = [.invalidArgument, .failed, .diskLow].contains(error.code)
            return .init(path: path.text, error: error.message, fatal: isOfOne ? nil : error)
        }
    }
}

/// What became of each file.
struct ImportReport: Codable {
    struct Entry: Codable {
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
            return switch outcome {
            case "known": "\(name): is here already, in session \(id)"
            case "restored": "\(name): session \(id) had lost it and has it again"
            default: "\(name): taken as session \(id)"
            }
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
    enum Item: Equatable {
        case file(FilePath)
        /// What cannot be looked at, and why.
        case unusable(FilePath, String)
    }

    private static let maximumDepth = 32

    /// A file stands for itself, whatever it is; a folder for what can be imported of it, and for what of it cannot be
    /// read.
    static func items(at path: FilePath) -> [Item] {
        var buffer = stat()
        guard path.withCString({ stat($0, &buffer) }) == 0 else {
            return [.unusable(path, String(cString: strerror(errno)))]
        }
        guard buffer.st_mode & S_IFMT == S_IFDIR else { return [.file(path)] }
        return walk(path, depth: 0)
    }

    private static func walk(_ folder: FilePath, depth: Int) -> [Item] {
        guard depth < maximumDepth else { return [.unusable(folder, "is too deep below the folder")] }
        guard let listing = FolderListing(folder, followingLinks: depth == 0) else {
            return [.unusable(folder, "cannot be read: \(String(cString: strerror(errno)))")]
        }
        var items: [Item] = []
        for entry in listing.entries.sorted(by: { $0.path < $1.path }) {
            switch entry.status.st_mode & S_IFMT {
            case S_IFDIR: items += walk(entry.path, depth: depth + 1)
            case S_IFREG where ImportMedia.type(of: entry.path.name.text) != nil:
                items.append(.file(entry.path))
            default: continue
            }
        }
        if listing.isCut { items.append(.unusable(folder, "cannot be read to its end")) }
        return items
    }
}

/// Arguments as the shell passed them: Swift makes text of them, and so loses what is none.
enum RawArgument {
    /// The bytes of an argument that was repaired to `text`.
    static func path(_ text: String) -> FilePath {
        guard text.contains("\u{FFFD}") else { return FilePath(text) }
        for argument in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)) {
            guard let argument, String(cString: argument) == text else { continue }
            return FilePath(
                bytes: UnsafeBufferPointer(start: argument, count: strlen(argument)).map {
                    UInt8(bitPattern: $0)
                })
        }
        return FilePath(text)
    }
}

extension FilePath {
    /// Without links and dots; nil when it cannot be told.
    fileprivate var absolute: FilePath? {
        guard let real = withCString({ realpath($0, nil) }) else { return nil }
        defer { free(real) }
        return FilePath(
            bytes: UnsafeBufferPointer(start: real, count: strlen(real)).map { UInt8(bitPattern: $0) })
    }
}
