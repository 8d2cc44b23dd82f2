import Control

/// `celestiad storage`
enum StorageVerb {
    static let verb = Verb(
        name: "storage", summary: "Show where the hub's disk space goes; exits with 11 when it is low.",
        options: [.json]
    ) { invocation throws(ControlError) in
        let report = try await invocation.connect().storage()
        if invocation.wantsJSON {
            try invocation.console.printJSON(report)
        } else {
            invocation.console.print(StorageView(invocation.console.layout).lines(report))
        }
        return report.disk.map { $0.state == "ok" } ?? true ? .success : .diskLow
    }
}
