import Control
import Gateway

/// `celestiad version`
enum VersionVerb {
    static let verb = Verb(
        name: "version", summary: "Show the version of this program and of the daemon that runs.",
        options: [.json]
    ) { invocation throws(ControlError) in
        let daemon: VersionDocument?
        do throws(ControlError) {
            daemon = try await invocation.connect().version()
        } catch {
            daemon = nil  // the program's own version is an answer without a daemon too
        }
        let document = VersionsDocument(program: Version.number, daemon: daemon?.version)
        if invocation.wantsJSON {
            try invocation.console.printJSON(document)
        } else {
            invocation.console.print("celestiad \(document.program)")
            let running = document.daemon.map { Text.clean($0) } ?? "not reachable"
            if running != document.program { invocation.console.print("daemon    \(running)") }
        }
        return .success
    }
}

/// What `version --json` prints.
struct VersionsDocument: Encodable {
    let program: String
    let daemon: String?
}
