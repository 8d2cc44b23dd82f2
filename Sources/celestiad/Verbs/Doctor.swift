import Control
import EventLoop
import Gateway

/// `celestiad doctor`
enum DoctorVerb {
    static let verb = Verb(
        name: "doctor",
        summary: "Look for what keeps the hub from working, and say the command that mends it.",
        discussion: [
            "It looks at the configuration, the service, the message bus, bluetoothd, the adapter, the clock, the disk, the "
                + "cloud and the queue, also while the daemon is not running. Run as root it sees more: what it could not look "
                + "at is SKIPPED, with the reason. Exits with 14 when something has failed."
        ],
        options: [
            Option(
                name: "bundle", value: "FILE",
                help:
                    "Also write a new .tar.gz or .tar for somebody who helps: what was found, the status, the configuration, "
                    + "versions and the journal, without names, addresses and tokens.",
                completes: .files),
            Option(name: "no-redact", help: "For --bundle: leave everything in it as it is."),
            Option(
                name: "config", value: "FILE",
                help: "Read this file instead of \(Configuration.defaultPath); also CELESTIAD_CONFIG.",
                completes: .files),
            .json,
        ]
    ) { invocation throws(ControlError) in
        guard let path = invocation.arguments.value("bundle") else {
            guard !invocation.arguments.has("no-redact") else {
                throw ControlError(.invalidArgument, "--no-redact goes with --bundle FILE")
            }
            let (document, _) = await examine(invocation, try look(invocation))
            return try show(document, invocation)
        }
        // First, because what is there already must not be waited for.
        var file = try BundleFile(path)
        let look = try look(invocation)
        let (document, facts) = await examine(invocation, look)
        let files = DoctorBundle.files(
            await sources(document, facts, look), redacts: !invocation.arguments.has("no-redact"))
        guard
            let bytes = DoctorBundle.archive(
                files, time: document.time, isCompressed: BundleFile.isCompressed(path))
        else { throw ControlError(.failed, "there is no memory to compress the bundle in") }
        try file.write(bytes)
        let code = try show(document, invocation)
        invocation.console.note("wrote \(Text.clean(path)); look at it before you send it: tar -xf FILE -O")
        return code
    }

    private static func show(
        _ document: DoctorDocument, _ invocation: Invocation
    ) throws(ControlError) -> ExitCode {
        if invocation.wantsJSON {
            try invocation.console.printJSON(document)
        } else {
            invocation.console.print(DoctorView(invocation.console.layout).lines(document))
        }
        return document.counts.fail > 0 ? .unhealthy : .success
    }

    private static func examine(
        _ invocation: Invocation, _ look: DoctorLook
    ) async -> (DoctorDocument, DoctorFacts) {
        let facts = await look.facts()
        return (
            DoctorDocument(time: look.now, version: Version.number, findings: DoctorRules.findings(facts)),
            facts
        )
    }

    private static func look(_ invocation: Invocation) throws(ControlError) -> DoctorLook {
        do throws(SystemError) {
            return DoctorLook(
                machine: MachineLook(tree: SystemTree()), environment: invocation.environment,
                configurationPath: invocation.arguments.value("config"),
                busAddress: CommandRunner.busAddress(invocation.arguments, invocation.environment),
                loop: try EventLoop.start(name: "doctor"), now: invocation.console.now())
        } catch {
            throw ControlError(.failed, error.description)
        }
    }

    /// How many lines of the journal are enough to see what went before.
    private static let journalLines = 2000

    private static func sources(
        _ document: DoctorDocument, _ facts: DoctorFacts, _ look: DoctorLook
    ) async -> BundleSources {
        let machine = look.machine
        var versions = await DoctorLook.look("the list of packages") { machine.versions() }
        if case .blind = versions { versions = .found(BundleVersions(program: Version.number, kernel: "")) }
        var found = versions.value ?? BundleVersions(program: Version.number, kernel: "")
        if case .success(let status) = facts.daemon.status { found.daemon = status.daemon.version }
        let journal = await DoctorLook.look("the journal") {
            Journal.lines(of: "celestiad.service", last: journalLines)
        }
        return BundleSources(
            doctor: document, user: facts.user, daemon: facts.daemon, settings: await look.settings(),
            versions: found,
            journal: readable(journal, isRoot: facts.isRoot))
    }

    private static func readable(_ look: Look<[JournalLine]?>, isRoot: Bool) -> Look<[JournalLine]> {
        switch look {
        case .blind(let reason): return .blind(reason)
        case .found(nil): return .blind("there is no journal")
        case .found(let lines?):
            guard lines.isEmpty else { return .found(lines) }
            return .blind(
                isRoot
                    ? "celestiad.service has written nothing into the journal"
                    : "no line of celestiad.service can be read: only root and group systemd-journal may")
        }
    }
}
