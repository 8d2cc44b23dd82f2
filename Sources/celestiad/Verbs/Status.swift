import Control

/// `celestiad status`
enum StatusVerb {
    static let verb = Verb(
        name: "status", summary: "Show how everything is; exits with 14 when something is wrong.",
        options: [
            Option(
                name: "watch", help: "Go on showing it as it changes, also across a restart of the daemon."),
            .json,
        ]
    ) { invocation throws(ControlError) in
        if invocation.arguments.has("watch") { return try await StatusWatch(invocation: invocation).run() }
        let status = try await invocation.connect().status()
        if invocation.wantsJSON {
            try invocation.console.printJSON(status)
        } else {
            invocation.console.print(StatusView(invocation.console.layout).lines(status))
        }
        return isHealthy(status) ? .success : .unhealthy
    }

    private static func isHealthy(_ status: StatusDocument) -> Bool {
        !status.health.contains { $0.severity == "error" || $0.severity == "warning" }
    }
}

/// Status again and again: on a terminal in place, otherwise one text or one line of JSON per change.
struct StatusWatch {
    let invocation: Invocation
    private static let reconnectDelay = Duration.seconds(2)
    /// Ages grow even when nothing changes.
    private static let refreshInterval = Duration.seconds(1)

    private enum Step: Sendable {
        case event(ControlEvent)
        case refresh
    }

    func run() async throws(ControlError) -> ExitCode {
        var screen = Screen(invocation)
        var client = try await invocation.connect()
        while true {
            try await follow(client, &screen)
            // The bus went away; so did the daemon, as far as anyone can tell.
            try screen.show(.gone("the message bus is gone, waiting"))
            client = try await reconnect()
        }
    }

    private func reconnect() async throws(ControlError) -> ControlClient {
        while true {
            do {
                try await Task.sleep(for: Self.reconnectDelay)
            } catch {
                throw ControlError(.cancelled, "interrupted")
            }
            do throws(ControlError) {
                return try await invocation.connect()
            } catch {
                guard error.code == .noBus else { throw error }
            }
        }
    }

    /// Shows what the daemon says until the bus is gone.
    private func follow(_ client: ControlClient, _ screen: inout Screen) async throws(ControlError) {
        // Before the snapshot, so that no change falls between.
        let events = try await client.events()
        let (steps, continuation) = AsyncStream.makeStream(
            of: Step.self, bufferingPolicy: .bufferingNewest(64))
        let refreshes = invocation.console.outputIsTerminal && !invocation.wantsJSON
        let feeder = Task {
            await withTaskGroup(of: Void.self) { group in
                if refreshes {
                    group.addTask {
                        while (try? await Task.sleep(for: Self.refreshInterval)) != nil {
                            continuation.yield(.refresh)
                        }
                    }
                }
                for await event in events { continuation.yield(.event(event)) }
                group.cancelAll()
            }
            continuation.finish()
        }
        defer { feeder.cancel() }
        for await step in steps {
            switch step {
            case .event(.daemon(isRunning: false)): try screen.show(.gone("the daemon is gone, waiting"))
            case .event: try await refresh(client, &screen)
            case .refresh: try screen.redraw()
            }
        }
        if Task.isCancelled { throw ControlError(.cancelled, "interrupted") }
    }

    private func refresh(_ client: ControlClient, _ screen: inout Screen) async throws(ControlError) {
        do throws(ControlError) {
            try screen.show(.status(try await client.status()))
        } catch {
            // It may leave between its signal and our question; its return will be an event.
            guard error.code == .notRunning || error.code == .timeout || error.code == .noBus else {
                throw error
            }
        }
    }
}

extension StatusWatch {
    /// What is shown now.
    private enum Content {
        case status(StatusDocument)
        case gone(String)
    }

    private struct Screen {
        private let console: Console
        private let isJSON: Bool
        private var area: LiveArea
        private var content: Content?

        init(_ invocation: Invocation) {
            console = invocation.console
            isJSON = invocation.wantsJSON
            area = LiveArea(console, onError: false)
        }

        mutating func show(_ content: Content) throws(ControlError) {
            self.content = content
            if isJSON {
                switch content {
                case .status(let status):
                    try console.printJSON(StatusLineDocument(type: "status", status: status))
                case .gone(let message):
                    try console.printJSON(StatusLineDocument(type: "gone", message: message))
                }
            } else if console.outputIsTerminal {
                try redraw()
            } else {
                switch content {
                case .status(let status): console.print(StatusView(console.layout).lines(status) + [""])
                case .gone(let message): console.note(message)
                }
            }
        }

        mutating func redraw() throws(ControlError) {
            switch content {
            case .status(let status):
                let view = StatusView(console.layout)
                area.draw(view.lines(status), last: view.health(status.health).count)
            case .gone(let message): area.draw([Text.fit(message, to: console.layout.width)])
            case nil: break
            }
        }
    }
}

/// One line of `status --watch --json`.
struct StatusLineDocument: Codable {
    /// `status` or `gone`.
    let type: String
    var status: StatusDocument?
    var message: String?
}
