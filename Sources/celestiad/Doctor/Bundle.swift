import Archive
import Control
import FoundationEssentials
import Gateway
import Glibc
import HTTP

/// What a bundle is made from.
struct BundleSources: Sendable {
    var doctor: DoctorDocument
    /// Who looked.
    var user: String
    var daemon: DaemonFacts
    var settings: Look<[ConfigurationSetting]>
    var versions: BundleVersions
    /// The service's last lines in the journal.
    var journal: Look<[JournalLine]>
}

/// Which programs there are.
struct BundleVersions: Sendable, Hashable, Codable {
    var program: String
    var daemon: String?
    var kernel: String
    var system: String?
    var bluez: String?
    var dbus: String?
    var systemd: String?
}

/// The files of `celestiad doctor --bundle`, for somebody who helps. Pure.
enum DoctorBundle {
    struct File: Sendable, Hashable {
        let name: String
        let text: String
    }

    private static let folder = "celestiad-doctor"

    /// The files; without what tells of people and recordings where it `redacts`.
    static func files(_ sources: BundleSources, redacts: Bool) -> [File] {
        var redactor = redacts ? redactor(sources) : nil
        var files = [File(name: "README", text: readme(redacts))]
        files.append(File(name: "doctor.json", text: RedactedJSON.text(sources.doctor, &redactor)))
        files.append(File(name: "versions.json", text: RedactedJSON.text(sources.versions, &redactor)))
        files.append(File(name: "status.json", text: text(sources.daemon.status, &redactor)))
        if let storage = sources.daemon.storage {
            files.append(File(name: "storage.json", text: text(storage, &redactor)))
        }
        if let cloud = sources.daemon.cloud {
            files.append(File(name: "cloud.json", text: text(cloud, &redactor)))
        }
        files.append(File(name: "configuration", text: configuration(sources.settings, &redactor)))
        files.append(File(name: "journal", text: journal(sources.journal, &redactor)))
        return files
    }

    /// The archive's bytes; nil when they could not be compressed.
    static func archive(_ files: [File], time: Date, isCompressed: Bool) -> [UInt8]? {
        var archive = TarArchive()
        for file in files {
            archive.add(
                "\(folder)/\(file.name)", Array(file.text.utf8), time: Int64(time.timeIntervalSince1970))
        }
        return isCompressed ? Gzip.compressed(archive.bytes) : archive.bytes
    }

    private static func readme(_ redacts: Bool) -> String {
        let note =
            redacts
            ? "E-mail addresses, tokens, names, paths, names of files, hosts and IP addresses were taken out; Bluetooth\n"
                + "addresses and ids were shortened, the same everywhere. Look at the files before you send them: what a person has written can\n"
                + "hold anything."
            : "NOTHING WAS TAKEN OUT (--no-redact): it holds names, addresses and paths. Send it to nobody whom you would\n"
                + "not tell them."
        return
            "Made by celestiad doctor --bundle. No recordings, no passwords and no tokens are in it.\n\(note)\n"
    }

    /// What the documents say that must not be told wherever it stands.
    private static func redactor(_ sources: BundleSources) -> Redactor {
        var redactor = Redactor()
        if sources.user != "root" { redactor.know(sources.user, as: "<user>") }
        if case .success(let status) = sources.daemon.status {
            redactor.know(status.account.name, as: "<account>")
            for recorder in status.recorders {
                redactor.knowRecorder([recorder.id, recorder.name, recorder.ownName])
            }
            for transfer in status.transfers { redactor.know(transfer.name, as: "<file>") }
        }
        if case .success(let cloud) = sources.daemon.cloud {
            redactor.know(cloud.account.name, as: "<account>")
        }
        if case .success(let storage) = sources.daemon.storage {
            for file in storage.refused ?? [] {
                redactor.know(file.path, as: "<path>")
                redactor.know(file.path.split(separator: "/").last.map(String.init), as: "<file>")
            }
        }
        // A daemon that does not answer has still written their names into the log.
        for line in sources.journal.value ?? [] {
            for name in recorders(in: line.message) { redactor.knowRecorder([name]) }
        }
        for setting in sources.settings.value ?? [] where setting.isPrivate && setting.origin != nil {
            redactor.know(setting.value, as: "<\(setting.name)>")
            if let host = host(of: setting.value) { redactor.know(host, as: "<host>") }
        }
        return redactor
    }

    /// That of an address, but for this machine, which is nobody's.
    private static func host(of value: String) -> String? {
        guard let start = value.firstRange(of: "://")?.upperBound else { return nil }
        let authority = value[start...].prefix { $0 != "/" }
        let host =
            authority.first == "["
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return host.isEmpty || HTTPURL.isLoopback(String(host)) ? nil : String(host)
    }

    /// What stands behind the word.
    private static func recorders(in line: String) -> [String] {
        let words = line.split(separator: " ")
        return zip(words, words.dropFirst()).compactMap { word, next in
            let name = next.prefix { $0 != ":" && $0 != "," }
            return word.hasSuffix("recorder") && 3...64 ~= name.count ? String(name) : nil
        }
    }

    private static func text(
        _ answer: Result<some Encodable, ControlError>, _ redactor: inout Redactor?
    ) -> String {
        switch answer {
        case .success(let document): RedactedJSON.text(document, &redactor)
        case .failure(let error): RedactedJSON.text(ExitErrorDocument(error), &redactor)
        }
    }

    private static func configuration(
        _ settings: Look<[ConfigurationSetting]>, _ redactor: inout Redactor?
    ) -> String {
        switch settings {
        case .blind(let reason): return (redactor?.text(reason) ?? reason) + "\n"
        case .found(let settings):
            var text = ""
            for setting in settings {
                let value =
                    setting.isPrivate && setting.origin != nil && redactor != nil
                    ? "<\(setting.name)>" : setting.value
                text +=
                    "[\(setting.section)] \(setting.name)=\(redactor?.text(value) ?? value)"
                    + (setting.origin.map { "  # \(redactor?.text($0) ?? $0)" } ?? "") + "\n"
            }
            return text
        }
    }

    private static func journal(_ lines: Look<[JournalLine]>, _ redactor: inout Redactor?) -> String {
        switch lines {
        case .blind(let reason): return reason + "\n"
        case .found(let lines):
            var text = ""
            for line in lines {
                let message = Text.clean(line.message, limit: 4000)
                text +=
                    "\(line.time.formatted(.iso8601)) <\(line.priority)> \(redactor?.text(message) ?? message)\n"
            }
            return text
        }
    }
}

/// The file that a bundle is written into: new, and its owner's only.
struct BundleFile: ~Copyable {
    let path: String
    private let fd: Int32
    private var isDone = false

    /// Throws `invalidArgument` for a name that is no archive's, `failed` where there is a file already.
    init(_ path: String) throws(ControlError) {
        fd = try Self.create(path)
        self.path = path
    }

    private static let elsewhere = "celestiad doctor --bundle /tmp/doctor.tar.gz"

    private static func create(_ path: String) throws(ControlError) -> Int32 {
        guard isCompressed(path) || path.hasSuffix(".tar") else {
            throw ControlError(
                .invalidArgument, "the bundle is a .tar.gz or a .tar",
                hint: "celestiad doctor --bundle doctor.tar.gz")
        }
        let fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else {
            guard errno != EEXIST else {
                throw ControlError(
                    .failed, "\(Text.clean(path)) is there already, and is left as it is",
                    hint: "name another file")
            }
            throw LocalFile.failure("write \(path)", elsewhere: elsewhere)
        }
        return fd
    }

    static func isCompressed(_ path: String) -> Bool { path.hasSuffix(".tar.gz") || path.hasSuffix(".tgz") }

    /// Throws `failed` or `diskLow`; what was begun is removed then.
    mutating func write(_ bytes: [UInt8]) throws(ControlError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw LocalFile.failure("write \(path)", elsewhere: Self.elsewhere) }
            rest = rest.dropFirst(count)
        }
        guard fsync(fd) == 0 else { throw LocalFile.failure("write \(path)", elsewhere: Self.elsewhere) }
        isDone = true
    }

    deinit {
        close(fd)
        if !isDone { unlink(path) }
    }
}
