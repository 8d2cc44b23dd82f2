import EventLoop
import Gateway
import Recorder
import Testing

/// What reading the configuration anew changes while the daemon runs.
@Suite struct LiveConfigurationTests {
    private struct Files: ConfigurationFiles {
        let text: String

        func text(of path: String) throws(GatewayError) -> String? { text }
        func names(in folder: String) throws(GatewayError) -> [String] { [] }
    }

    private func load(_ text: String) throws -> (Configuration, [ConfigurationSetting]) {
        try Configuration.load(path: "/c", environment: [:], files: Files(text: text))
    }

    private func live(_ text: String) throws -> LiveConfiguration {
        let (configuration, settings) = try load(text)
        return LiveConfiguration(configuration, settings)
    }

    private func take(_ text: String, _ live: LiveConfiguration) throws -> LiveConfiguration.Change {
        let (configuration, settings) = try load(text)
        return live.take(configuration, settings)
    }

    @Test func whatCanBeTakenIsAndTheRestWaits() throws {
        let live = try live("[Upload]\nParallel=1\n[Bluetooth]\nAdapter=00:11:22:33:44:55")
        let change = try take(
            "[Upload]\nParallel=3\n[Recorder]\nDelete=never\n[Bus]\nAddress=unix:path=/x", live)
        #expect(change.taken == ["[Recorder] Delete", "[Upload] Parallel"])
        #expect(change.waiting.sorted() == ["[Bluetooth] Adapter", "[Bus] Address"])
        #expect(live.current.parallelUploads == 3 && live.current.deletePolicy == .never)
        #expect(live.current.adapter == "00:11:22:33:44:55")
        #expect(live.current.busAddress == Configuration().busAddress)
        // What waits goes on waiting, and is said again; what was taken is not.
        let again = try take(
            "[Upload]\nParallel=3\n[Recorder]\nDelete=never\n[Bus]\nAddress=unix:path=/x", live)
        #expect(again.taken == [] && again.waiting.sorted() == ["[Bluetooth] Adapter", "[Bus] Address"])
        // Put back, nothing waits any more.
        let back = try take("[Bluetooth]\nAdapter=00:11:22:33:44:55", live)
        #expect(back.waiting == [] && back.taken == ["[Recorder] Delete", "[Upload] Parallel"])
    }

    /// Every key does one of both: none is read and forgotten.
    @Test(arguments: ConfigurationKey.all.map(\.title))
    func everyKeyIsTakenOrWaits(_ title: String) throws {
        let values = [
            "/x", "debug", "unix:path=/x", "https://x.example/v1", "00:11:22:33:44:55", "never", "7min", "9",
            "3",
            "64K", "ignore", "ada", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "",
            "127.0.0.1:9100",
            "/etc/ssl/certs/ca-certificates.crt", "/x.prom", "1883", "yes", "true", "localhost",
        ]
        let section = String(title.dropFirst().prefix { $0 != "]" })
        let name = String(title.split(separator: " ")[1])
        let live = try live("")
        var changes: [LiveConfiguration.Change] = []
        for value in values {
            guard let change = try? take("[\(section)]\n\(name)=\(value)", live) else { continue }
            changes.append(change)
        }
        let (taken, waiting) = (changes.flatMap(\.taken), changes.flatMap(\.waiting))
        #expect(Set(taken + waiting) == [title], "no value of this test is one of \(title)")
        #expect(taken.isEmpty != waiting.isEmpty)
    }

    @Test func whoFollowsBeginsAnew() async throws {
        let live = try live("")
        let seen = Locked<[Int]>([])
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let following = Task {
            await live.following(\.parallelUploads) { count in
                seen.withLock { $0.append(count) }
                begin.yield()
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            }
        }
        var beginnings = begun.makeAsyncIterator()
        await beginnings.next()
        _ = try take("[Recorder]\nDelete=never", live)
        _ = try take("[Upload]\nParallel=4", live)
        await beginnings.next()
        following.cancel()
        await following.value
        #expect(seen.withLock { $0 } == [2, 4])
    }
}
