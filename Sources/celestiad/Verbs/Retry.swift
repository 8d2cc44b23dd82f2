import Control

/// `celestiad retry ID`
enum RetryVerb {
    static let verb = Verb(
        name: "retry", summary: "Try a session again now.",
        discussion: [
            "Whatever the session waited for is looked at anew, and holds it again if it is still so: a full account, a "
                + "refusal, a conflict, a session that was deleted in the cloud or is in another account. celestiad never "
                + "makes a session anew that was deleted there: restore it first, or leave it."
        ],
        positionals: [Positional(name: "ID", help: "The session's id or a clear beginning of it.")]
    ) { invocation throws(ControlError) in
        let client = try await invocation.connect()
        let id = invocation.positional(0) ?? ""
        let session = try await client.act(.retry, on: id)
        invocation.console.note(
            session.state == "imported"
                ? "session \(session.id) is in the cloud already"
                : "session \(session.id) is tried again; celestiad session \(id) shows it")
        return .success
    }
}
