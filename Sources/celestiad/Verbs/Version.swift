import Control
import Gateway

/// `celestiad version`
enum VersionVerb {
    static let verb = Verb(
        name: "version", summary: "Show the version of this program and of the daemon that runs.",
        options: [.json]
    ) { invocation throws(ControlError) in
        var daemon: VersionDocument?
        var reason = "not reachable"
        do throws(ControlError) {
            daemon = try await invocation.connect().version()
        } catch {
            // The program's own version is an answer without a daemon too.
            if error.code == .notRunning { reason = "not running" }
            if error.code == .notAuthorized { reason = "not for you to ask" }
        }
        let document = VersionsDocument(program: Version.number, daemon: daemon?.version)
        if invocation.wantsJSON {
            try invocation.console.printJSON(document)
        } else {
            invocation.console.print("celestiad \(document.program)")
            let running = document.daemon.map { Text.clean($0) } ?? reason
            if running != document.program { invocation.console.print("daemon    \(running)") }
        }
        return .success
    }
}

/// What `version --json` prints.
struct VersionsDocument: Codable {
    let program: String
    let daemon: String?
}
