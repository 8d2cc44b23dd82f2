import EventLoop

/// The configuration of a daemon that runs: what is read anew takes effect where it can, without an end of anything that is
/// under way.
package final class LiveConfiguration: Sendable {
    /// The keys that take effect at once. All others wait for a restart.
    private static let reloadable: [String: @Sendable (inout Configuration, Configuration) -> Void] = [
        "[General] LogLevel": { $0.logLevel = $1.logLevel },
        "[Recorder] Delete": { $0.deletePolicy = $1.deletePolicy },
        "[Recorder] SyncInterval": { $0.syncInterval = $1.syncInterval },
        "[Queue] ReservedMiB": { $0.reservedMiB = $1.reservedMiB },
        "[Queue] ReservedPercent": { $0.reservedPercent = $1.reservedPercent },
        "[Queue] KeepAfterUpload": { $0.keepAfterUpload = $1.keepAfterUpload },
        "[Upload] Parallel": { $0.parallelUploads = $1.parallelUploads },
        "[Upload] RateLimit": { $0.uploadRates = $1.uploadRates },
        "[Upload] Metered": { $0.holdsWhenMetered = $1.holdsWhenMetered },
        "[Import] WatchedFolder": { $0.watchedFolder = $1.watchedFolder },
        "[Import] Settling": { $0.folderSettling = $1.folderSettling },
        "[Metrics] TextfilePath": { $0.metrics.file = $1.metrics.file },
        "[Metrics] Interval": { $0.metrics.interval = $1.metrics.interval },
        "[Metrics] Listen": { $0.metrics.address = $1.metrics.address },
        "[MQTT] Host": { $0.mqtt.host = $1.mqtt.host },
        "[MQTT] Port": { $0.mqtt.givenPort = $1.mqtt.givenPort },
        "[MQTT] TLS": { $0.mqtt.usesTLS = $1.mqtt.usesTLS },
        "[MQTT] CAFile": { $0.mqtt.caFile = $1.mqtt.caFile },
        "[MQTT] Username": { $0.mqtt.username = $1.mqtt.username },
        "[MQTT] PasswordFile": { $0.mqtt.passwordFile = $1.mqtt.passwordFile },
        "[MQTT] DiscoveryPrefix": { $0.mqtt.discoveryPrefix = $1.mqtt.discoveryPrefix },
        "[MQTT] TopicPrefix": { $0.mqtt.topicPrefix = $1.mqtt.topicPrefix },
    ]

    /// What reading anew has changed, by the titles of the keys.
    package struct Change: Sendable, Equatable {
        package var taken: [String] = []
        /// To take effect with the next start.
        package var waiting: [String] = []
    }

    private struct State {
        var configuration: Configuration
        var settings: [ConfigurationSetting]
        var observers: [AsyncStream<Configuration>.Continuation] = []
    }

    private let state: Locked<State>

    /// `settings` as they were read with it.
    package init(_ configuration: Configuration, _ settings: [ConfigurationSetting] = []) {
        state = Locked(State(configuration: configuration, settings: settings))
    }

    package var current: Configuration { state.withLock { $0.configuration } }

    /// The configuration now, and after every change.
    package func changes() -> AsyncStream<Configuration> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Configuration.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            continuation.yield(state.configuration)
            state.observers.append(continuation)
        }
        return stream
    }

    /// Takes what was read anew.
    package func take(_ configuration: Configuration, _ settings: [ConfigurationSetting]) -> Change {
        state.withLock { state in
            let old = Dictionary(
                state.settings.map { ("[\($0.section)] \($0.name)", $0.value) }, uniquingKeysWith: { $1 })
            var change = Change()
            var waiting = state.settings
            for (index, setting) in settings.enumerated() {
                let title = "[\(setting.section)] \(setting.name)"
                guard let before = old[title], before != setting.value else { continue }
                if let take = Self.reloadable[title] {
                    take(&state.configuration, configuration)
                    change.taken.append(title)
                    waiting[index] = setting
                } else {
                    change.waiting.append(title)
                }
            }
            // What waits is still compared with what runs.
            state.settings = waiting
            state.observers.removeAll {
                if case .terminated = $0.yield(state.configuration) { true } else { false }
            }
            return change
        }
    }

    /// Does the work anew whenever what it depends on has changed, until the task is cancelled.
    package func following<Value: Equatable & Sendable>(
        _ value: @escaping @Sendable (Configuration) -> Value,
        _ work: @escaping @Sendable (Value) async -> Void
    ) async {
        while !Task.isCancelled {
            let now = value(current)
            _ = await firstOf(
                {
                    await work(now)
                    return true
                },
                {
                    for await configuration in self.changes() where value(configuration) != now {
                        return true
                    }
                    return nil
                })
        }
    }
}
