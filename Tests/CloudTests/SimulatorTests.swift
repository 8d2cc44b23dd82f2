import Cloud
import Dates
import EventLoop
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import HTTP

/// The client against the simulated cloud, which refuses and records whatever the contract does not allow.
@Suite struct SimulatorTests {
    private static let setUp: Void = try! HTTPClient.globalSetUp()

    /// A cloud, a client that is logged in, and a session to put assets in.
    private struct Bench {
        let cloud: CloudSimulator
        let api: CelestiaAPI
        let directory = TemporaryDirectory()

        init(_ options: [String] = [], logIn: Bool = true) async throws {
            SimulatorTests.setUp
            cloud = try CloudSimulator(options)
            api = CelestiaAPI(
                base: try APIBase(cloud.address),
                transport: try HTTPClient(loop: try EventLoop.start(name: "http")),
                directory: directory.path, machine: "m1", executor: try EventLoop.start(name: "disk"))
            if logIn { try await api.logIn(identifier: "ada", password: Secret("countess")) }
        }

        func session(_ clientId: String = "hub-1") async throws -> RemoteSession {
            try await api.upsertSession(
                SessionUpsert(
                    clientId: clientId, title: "Märchen",
                    startTime: Timestamp(millisecondsSince1970: 1_784_888_430_250),
                    durationMs: 60_000,
                    events: [EventUpsert(clientId: "e-1", relativeTimeMs: 5, eventType: .marker)]))
        }

        func asset(
            _ clientId: String, _ size: Int, kind: AssetKind = .audio
        ) throws -> (upload: AssetUpload, bytes: [UInt8]) {
            // No two blocks alike, so that none can take another's place.
            var bytes: [UInt8] = []
            while bytes.count < size {
                let block = [UInt8](repeating: UInt8(truncatingIfNeeded: bytes.count / 4096), count: 4093)
                bytes.append(contentsOf: (Array("\(bytes.count):".utf8) + block).prefix(size - bytes.count))
            }
            let path = directory.path + "/" + clientId
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let file = SharedFile(OwnedFD(open(path, O_RDONLY | O_CLOEXEC)))
            return (
                AssetUpload(
                    clientId: clientId, kind: kind, fileName: "a \"b\".wav", mimeType: "audio/wav",
                    file: file,
                    size: Int64(size)), bytes
            )
        }

        func error(_ body: () async throws(CloudError) -> Void) async -> CloudError? {
            do throws(CloudError) {
                try await body()
                return nil
            } catch {
                return error
            }
        }
    }

    @Test func theWholeFlowBreaksNoRule() async throws {
        let bench = try await Bench()
        let api = bench.api
        try await api.health()
        #expect(try await api.profile().username == "ada")
        #expect(
            try await api.updateProfile(ProfileUpdate(email: "ada@example.org")).email == "ada@example.org")
        let device = try await api.bindDevice(
            DeviceBinding(
                name: "Recorder", peripheralUUID: "uuid-1", batteryLevel: 80, totalStorageMB: 32_000))
        let again = try await api.bindDevice(DeviceBinding(name: "Recorder", peripheralUUID: "uuid-1"))
        #expect(again.id == device.id)
        #expect(try await api.updateDevice(id: device.id, DeviceUpdate(batteryLevel: 79)).batteryLevel == 79)
        let session = try await bench.session()
        #expect(try await api.quota().hasRoom(for: 1000))
        let (asset, bytes) = try bench.asset("asset-1", 100_000)
        let receipt = try await api.uploadAsset(asset, sessionId: session.id)
        let digest = receipt.asset.sha256
        #expect(receipt.sessionRevision ?? 0 > session.revision)
        #expect(try await bench.cloud.get("assets/\(digest)") == bytes)
        let replay = try await api.uploadAsset(asset, sessionId: session.id)
        #expect(replay.asset.id == receipt.asset.id)
        let found = try await api.findAsset(clientId: "asset-1")
        #expect(found?.asset.id == receipt.asset.id)
        #expect(try await api.findAsset(clientId: "asset-2") == nil)
        #expect(try await api.triggerSync()?.syncedAt != nil)
        try await api.unbindDevice(id: device.id)
        try await api.unbindDevice(id: device.id)
        try await api.changePassword(old: Secret("countess"), new: Secret("analytical"))
        try await api.logIn(identifier: "ada", password: Secret("analytical"))
        #expect(try await api.logOut() == nil)
        #expect(try await bench.cloud.violations() == [])
        #expect(try await bench.cloud.state().sessions.first?.assets.map(\.fileName) == ["a _b_.wav"])
    }

    @Test func registrationLogsIn() async throws {
        let bench = try await Bench(logIn: false)
        let user = try await bench.api.register(
            username: "grace", identifier: "grace@example.org", password: Secret("hopper1"))
        #expect(user?.username == "grace")
        #expect(try await bench.api.profile().username == "grace")
        let taken = await bench.error { () throws(CloudError) in
            try await bench.api.register(
                username: "grace", identifier: "grace@example.org", password: Secret("hopper1"))
        }
        #expect(taken?.outcome == .terminal(.alreadyExists))
        let short = await bench.error { () throws(CloudError) in
            try await bench.api.register(
                username: "g", identifier: "g@example.org", password: Secret("hopper1"))
        }
        #expect(short?.code == .invalidArgument)
        #expect(try await bench.cloud.violations() == [])
    }

    @Test func aWrongPasswordIsFinalAndNotShown() async throws {
        let bench = try await Bench(logIn: false)
        let error = await bench.error { () throws(CloudError) in
            try await bench.api.logIn(identifier: "ada", password: Secret("hunter2!"))
        }
        #expect(error?.outcome == .terminal(.credentialsRejected))
        #expect(!String(reflecting: error).contains("hunter2!"))
    }

    @Test(arguments: [(40 << 20) + 123, 16 << 20])
    func aLargeFileTravelsInChunks(size: Int) async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        let (asset, bytes) = try bench.asset("asset-big", size)
        let ticket = try await bench.api.initUpload(asset, sessionId: session.id)
        for index in 0..<ticket.plan.count {
            let progress = try await bench.api.uploadChunk(
                index, of: ticket, file: asset.file, sessionId: session.id)
            #expect(progress.uploadedChunks == Int64(index + 1))
        }
        let receipt = try await bench.api.completeUpload(ticket, sessionId: session.id)
        #expect(receipt.asset.sizeBytes == Int64(size))
        #expect(try await bench.cloud.get("assets/\(receipt.asset.sha256)") == bytes)
        #expect(try await bench.cloud.violations() == [])
    }

    @Test func theRoutesAreChosenBySize() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        let (largest, _) = try bench.asset("largest", (16 << 20) - 1)
        #expect(try await bench.api.uploadAsset(largest, sessionId: session.id).asset.sizeBytes == 16_777_215)
        for size in [0, 16 << 20] {
            let (asset, _) = try bench.asset("other-\(size)", size)
            let error = await bench.error { () throws(CloudError) in
                _ = try await bench.api.uploadAsset(asset, sessionId: session.id)
            }
            #expect(error?.code == .invalidArgument)
        }
        let (empty, _) = try bench.asset("empty", 0)
        let error = await bench.error { () throws(CloudError) in
            _ = try await bench.api.initUpload(empty, sessionId: session.id)
        }
        #expect(error?.code == .invalidArgument)
        #expect(try await bench.cloud.violations() == [])
    }

    @Test func theServersChunkSizeWins() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        try await bench.cloud.addFaults(
            "[{\"route\":\"initializeChunkedUpload\",\"action\":\"chunk_size\",\"bytes\":5000000}]")
        let (asset, _) = try bench.asset("asset-big", 17 << 20)
        let ticket = try await bench.api.initUpload(asset, sessionId: session.id)
        #expect(ticket.plan.chunkSize == 5_000_000)
        for index in 0..<ticket.plan.count {
            _ = try await bench.api.uploadChunk(index, of: ticket, file: asset.file, sessionId: session.id)
        }
        #expect(try await bench.api.completeUpload(ticket, sessionId: session.id).asset.sizeBytes == 17 << 20)
    }

    @Test func anExpiredUploadIsBegunAnew() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        let (asset, _) = try bench.asset("asset-big", 17 << 20)
        let ticket = try await bench.api.initUpload(asset, sessionId: session.id)
        try await bench.cloud.post("expire-uploads")
        let error = await bench.error { () throws(CloudError) in
            _ = try await bench.api.uploadChunk(0, of: ticket, file: asset.file, sessionId: session.id)
        }
        #expect(error?.outcome == .reinit)
        #expect(error?.status == 410)
    }

    @Test func anExpiredTokenCostsOneRefreshWhateverIsUnderWay() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        try await bench.cloud.post("expire-tokens")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<6 {
                let (asset, _) = try bench.asset("asset-\(index)", 300_000)
                group.addTask { _ = try await bench.api.uploadAsset(asset, sessionId: session.id) }
            }
            try await group.waitForAll()
        }
        let state = try await bench.cloud.state()
        #expect(state.users.first?.tokens.refreshes == 1)
        #expect(state.sessions.first?.assets.count == 6)
    }

    @Test func aSpentRefreshTokenNeedsALogin() async throws {
        let bench = try await Bench()
        try await bench.cloud.post("expire-tokens", "{\"refresh\":true}")
        let error = await bench.error { () throws(CloudError) in _ = try await bench.api.quota() }
        #expect(error?.outcome == .hold(.authRequired))
        #expect(try await bench.api.tokens.state() == .authRequired(.refused))
    }

    @Test func aRotationWhoseAnswerIsLostEndsInAStateThatSaysSo() async throws {
        let bench = try await Bench()
        try await bench.cloud.post("expire-tokens")
        try await bench.cloud.addFaults(
            "[{\"route\":\"refreshAccessToken\",\"action\":\"drop_after_commit\"}]")
        let error = await bench.error { () throws(CloudError) in _ = try await bench.api.quota() }
        #expect(error?.outcome == .hold(.authRequired))
        #expect(try await bench.api.tokens.state() == .authRequired(.refreshLost))
        // Two sends, both ours: libcurl repeated none.
        #expect(try await bench.cloud.state().requests["refreshAccessToken"]?.requests == 2)
    }

    @Test func aRotationThatNeverHappenedIsRepeated() async throws {
        let bench = try await Bench()
        try await bench.cloud.post("expire-tokens")
        try await bench.cloud.addFaults(
            "[{\"route\":\"refreshAccessToken\",\"action\":\"drop_before_commit\"}]")
        #expect(try await bench.api.quota().totalBytes > 0)
    }

    @Test func anUploadWhoseAnswerIsLostIsFoundByLookup() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        try await bench.cloud.addFaults("[{\"route\":\"uploadAsset\",\"action\":\"drop_after_commit\"}]")
        let (asset, _) = try bench.asset("asset-1", 1)
        let error = await bench.error { () throws(CloudError) in
            _ = try await bench.api.uploadAsset(asset, sessionId: session.id)
        }
        #expect(error?.outcome == .ambiguous(after: nil))
        #expect(try await bench.api.findAsset(clientId: "asset-1")?.session.id == session.id)
    }

    @Test func aCreationWhoseAnswerIsLostLooksLikeAConflictAndIsRecognised() async throws {
        let bench = try await Bench()
        let upsert = SessionUpsert(
            clientId: "hub-1", title: "t", startTime: Timestamp(millisecondsSince1970: 1_784_888_430_250),
            durationMs: 5)
        try await bench.cloud.addFaults("[{\"route\":\"upsertSession\",\"action\":\"drop_after_commit\"}]")
        let lost = await bench.error { () throws(CloudError) in _ = try await bench.api.upsertSession(upsert)
        }
        #expect(lost?.outcome == .ambiguous(after: nil))
        let again = await bench.error { () throws(CloudError) in _ = try await bench.api.upsertSession(upsert)
        }
        #expect(again?.outcome == .conflict(serverRevision: 1))
        let remote = try #require(try await bench.api.sessions().session(clientId: "hub-1"))
        #expect(upsert.matches(remote))
        var next = upsert
        next.title = "t2"
        next.baseRevision = remote.revision
        #expect(try await bench.api.upsertSession(next).revision > remote.revision)
    }

    @Test func aFullAccountHoldsAndSaysHowMuchIsMissing() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        try await bench.cloud.post("quota", "{\"totalBytes\":1000}")
        let (asset, _) = try bench.asset("asset-1", 5000)
        let error = await bench.error { () throws(CloudError) in
            _ = try await bench.api.uploadAsset(asset, sessionId: session.id)
        }
        guard case .hold(.quota(let required, _)) = error?.outcome else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(required != nil)
        #expect(try await !bench.api.quota().hasRoom(for: 5000))
    }

    /// Faults on one call, and the outcome that a supervisor must see.
    @Test func everyFaultHasItsOutcome() async throws {
        let bench = try await Bench()
        let rows: [(String, Outcome)] = [
            (#""action":"html","status":200"#, .hold(.hostNotCelestia)),
            (#""action":"html","status":502"#, .retry(after: nil)),
            (#""action":"not_json","status":200"#, .hold(.hostNotCelestia)),
            (#""action":"status","status":403"#, .hold(.forbidden)),
            (#""action":"status","status":429,"headers":{"Retry-After":"4"}"#, .retry(after: .seconds(4))),
            (#""action":"status","status":302"#, .hold(.redirected)),
            (#""action":"status","status":200,"code":503"#, .retry(after: nil)),
            // The first loss is repeated by libcurl, for which the call is harmless; the second is seen.
            (#""action":"drop_after_commit","nth":1,"times":2"#, .retry(after: nil)),
            (#""action":"truncated_body""#, .retry(after: nil)),
        ]
        for (fault, outcome) in rows {
            _ = try? await bench.api.quota()
            try await bench.cloud.addFaults(#"[{"route":"getStorageQuota",\#(fault)}]"#)
            let error = await bench.error { () throws(CloudError) in _ = try await bench.api.quota() }
            #expect(error?.outcome == outcome, "\(fault): \(String(describing: error))")
        }
        #expect(try await bench.api.quota().totalBytes > 0)
    }

    @Test func aGatewaysLimitIsNotAQuota() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        try await bench.cloud.addFaults("[{\"route\":\"uploadAsset\",\"action\":\"html\",\"status\":413}]")
        let (asset, _) = try bench.asset("asset-1", 5000)
        let error = await bench.error { () throws(CloudError) in
            _ = try await bench.api.uploadAsset(asset, sessionId: session.id)
        }
        #expect(error?.outcome == .hold(.gatewayLimit))
    }

    @Test func aDownloadFillsAndContinuesAFile() async throws {
        let bench = try await Bench()
        let session = try await bench.session()
        let (asset, bytes) = try bench.asset("asset-1", 300_000)
        let receipt = try await bench.api.uploadAsset(asset, sessionId: session.id)
        let path = bench.directory.path + "/download"
        let file = SharedFile(OwnedFD(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)))
        let stored = try await bench.api.downloadAsset(
            id: receipt.asset.id, sessionId: session.id, into: HTTPSink(file: file, limit: 1 << 20))
        #expect(stored.bytesStored == 300_000)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        let missing = await bench.error { () throws(CloudError) in
            _ = try await bench.api.downloadAsset(
                id: "00000000-0000-4000-8000-000000000000", sessionId: session.id,
                into: HTTPSink(file: file, limit: 1 << 20))
        }
        #expect(missing?.outcome == .terminal(.gone))
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
    }

    @Test func aServersSkewedClockIsFollowed() async throws {
        let bench = try await Bench(["--clock-skew", "86400"])
        _ = try await bench.api.quota()
        let now = try #require(bench.api.clock.now)
        #expect(abs(now.secondsSince1970 - Int64(Date().timeIntervalSince1970) - 86_400) < 60)
    }

    /// The simulator's word decides over every test that uses it: by itself a breach fails the test.
    @Test func aRequestThatBreaksTheContractIsTold() async throws {
        let told = Locked<[String]>([])
        let cloud = try CloudSimulator { breach in told.withLock { $0.append(breach) } }
        let address = try #require(URL(string: cloud.address + "/user/profile"))
        _ = try await URLSession.shared.data(from: address)
        #expect(try await cloud.violations() == ["getProfile: missing-bearer no Authorization header"])
        cloud.stop()
        #expect(told.withLock { $0 } == ["getProfile: missing-bearer 'no Authorization header'"])
    }
}
