import EventLoop
import TestSupport
import Testing

@testable import ObjectTransfer

@Suite(.timeLimit(.minutes(5))) struct ObjectTransferClientTests {
    private static let content: [UInt8] = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    private func server(
        _ change: @Sendable (isolated ObjectServerDouble) -> Void = { _ in }
    ) async -> ObjectServerDouble {
        let server = ObjectServerDouble()
        await server.add(0x100, Self.content, name: "one")
        await server.add(0x101, [1, 2, 3], name: "two")
        await server.configure(change)
        return server
    }

    private func withClient<Value: Sendable>(
        of server: ObjectServerDouble, deadlines: ObjectTransferDeadlines = ObjectTransferDeadlines(),
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: @escaping @Sendable (ObjectTransferClient, any DataChannel) async throws -> Value
    ) async throws -> Value {
        let client = try await ObjectTransferClient(over: server, clock: clock, deadlines: deadlines)
        let channel = StreamDataChannel { () async throws(ObjectTransferError) in
            try await server.openStream()
        }
        return try await client.whileReceiving { try await body(client, channel) }
    }

    private func code(_ body: () async throws -> Void) async -> ObjectTransferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ObjectTransferError)?.code
        }
    }

    private func impatient(_ change: (inout ObjectTransferDeadlines) -> Void) -> ObjectTransferDeadlines {
        var deadlines = ObjectTransferDeadlines()
        deadlines.lockedBackoff = [.zero, .zero, .zero]
        change(&deadlines)
        return deadlines
    }

    // MARK: Control points

    static let oddities: [(String, @Sendable (isolated ObjectServerDouble) -> Void)] = [
        ("none", { _ in }),
        ("indication before the write reply", { $0.faults.answersLate = true }),
        ("padded indications", { $0.faults.padding = [0, 0, 0, 0, 0, 0] }),
        (
            "stray indications",
            {
                $0.faults.straysBeforeAnswer = [
                    [], [0x60], [0x60, 0x07, 0x01], [0x70, 0x08, 0x02], [1, 2, 3],
                ]
            }
        ),
    ]

    @Test(arguments: oddities.indices)
    func readsAnObject(oddity: Int) async throws {
        let server = await server(Self.oddities[oddity].1)
        let bytes = try await withClient(of: server) { client, channel in
            let object = try await client.metadata(of: ObjectID(0x100)!)
            #expect(object.name == "one" && object.currentSize == 5000)
            let bytes = try await client.readAll(5000, via: channel)
            #expect(try await client.checksum(offset: 0, length: 5000) == CRC32.checksum(bytes))
            return bytes
        }
        #expect(bytes == Self.content)
    }

    @Test func resultsBecomeErrors() async throws {
        let server = await server()
        try await withClient(of: server) { client, channel in
            #expect(await code { try await client.select(ObjectID(0x999)!) } == .list(.objectIDNotFound))
            try await client.select(ObjectID(0x101)!)
            #expect(
                await code { _ = try await client.checksum(offset: 0, length: 4) }
                    == .action(.invalidParameter))
            #expect(
                await code { _ = try await client.readAll(4, via: channel) } == .action(.invalidParameter))
        }
    }

    @Test func silenceSpendsTheLink() async throws {
        let server = await server { $0.faults.silentActions = [ObjectActionOpcode.delete.rawValue] }
        let deadlines = impatient { $0.controlPoint = .milliseconds(20) }
        try await withClient(of: server, deadlines: deadlines) { client, _ in
            try await client.select(ObjectID(0x100)!)
            #expect(await code { _ = try await client.perform(.delete) } == .timedOut)
            // A late answer would be taken for that of this request.
            #expect(await code { try await client.select(ObjectID(0x101)!) } == .timedOut)
        }
    }

    @Test func lostLinkFailsWhatWaits() async throws {
        let server = await server { $0.faults.silentActions = [ObjectActionOpcode.delete.rawValue] }
        try await withClient(of: server) { client, _ in
            try await client.select(ObjectID(0x100)!)
            async let code = code { _ = try await client.perform(.delete) }
            while await !server.log.contains("delete") { await Task.yield() }
            await server.cut()
            #expect(await code == .linkLost)
        }
    }

    @Test func onlyOneOperationAtATime() async throws {
        let server = await server { $0.faults.silentActions = [ObjectActionOpcode.delete.rawValue] }
        try await withClient(of: server) { client, _ in
            try await client.select(ObjectID(0x100)!)
            async let first = code { _ = try await client.perform(.delete) }
            while await !server.log.contains("delete") { await Task.yield() }
            #expect(await code { try await client.select(ObjectID(0x101)!) } == .busy)
            await server.cut()
            #expect(await first == .linkLost)
        }
    }

    @Test(arguments: [(1, nil), (3, nil), (4, .action(.objectLocked))] as [(Int, ObjectTransferError.Code?)])
    func lockedObjectIsTriedAgain(times: Int, expected: ObjectTransferError.Code?) async throws {
        let server = await server { $0.faults.lockedAnswers = times }
        try await withClient(of: server, deadlines: impatient { _ in }) { client, channel in
            try await client.select(ObjectID(0x101)!)
            do {
                #expect(try await client.readAll(3, via: channel) == [1, 2, 3])
                #expect(expected == nil)
            } catch let error as ObjectTransferError {
                #expect(error.code == expected && error.endsLink)
            }
        }
    }

    @Test func backoffIsThatOfTheDeadlines() async throws {
        let server = await server { $0.faults.lockedAnswers = 3 }
        let clock = ManualClock()
        let start = clock.now
        try await withClient(of: server, clock: clock) { client, _ in
            try await client.select(ObjectID(0x101)!)
            async let checksum = client.checksum(offset: 0, length: 3)
            while await server.faults.lockedAnswers > 0 || clock.now - start < .milliseconds(3500) {
                // Only sleeps of the backoff are due so soon; deadlines are seconds away.
                if let next = clock.nextDeadline, next - clock.now <= .seconds(2) {
                    clock.advance(by: next - clock.now)
                }
                await Task.yield()
            }
            #expect(try await checksum == CRC32.checksum([1, 2, 3]))
        }
        #expect(clock.now - start == .milliseconds(3500))
    }

    // MARK: Transfers

    @Test func excessBytesAreAnErrorAndDoNotLeak() async throws {
        let server = await server { $0.faults.excessBytes = 5 }
        try await withClient(of: server) { client, channel in
            try await client.select(ObjectID(0x101)!)
            #expect(await code { _ = try await client.readAll(3, via: channel) } == .protocolViolation)
            await server.configure { $0.faults.excessBytes = 0 }
            #expect(try await client.readAll(3, via: channel) == [1, 2, 3])
        }
    }

    @Test(arguments: [true, false])
    func stalledTransferIsAborted(canAbort: Bool) async throws {
        let server = await server {
            $0.faults.shortBytes = 1
            if !canAbort { $0.features.actions.remove(.abort) }
        }
        let deadlines = impatient { $0.stall = .milliseconds(20) }
        try await withClient(of: server, deadlines: deadlines) { client, channel in
            try await client.select(ObjectID(0x101)!)
            #expect(await code { _ = try await client.readAll(3, via: channel) } == .stalled)
            #expect(await server.log.contains("abort") == canAbort)
            await server.configure { $0.faults.shortBytes = 0 }
            #expect(try await client.readAll(3, via: channel) == [1, 2, 3])
        }
    }

    @Test func slowStoreIsNoStall() async throws {
        let clock = ManualClock()
        let progress = TransferProgress()
        async let verdict = progress.watch(stall: .seconds(10), limit: .seconds(60), clock: clock)
        try await progress.pass([1, 2, 3]) { _ in
            for _ in 0..<8 {
                await clock.waitForSleepers()
                clock.advance(by: .milliseconds(2500))
            }
            // The last sample was taken, too.
            await clock.waitForSleepers()
        }
        for _ in 0..<4 {
            await clock.waitForSleepers()
            clock.advance(by: .milliseconds(2500))
        }
        #expect(await verdict?.code == .stalled)
    }

    @Test func endlessDribbleIsCutOff() async throws {
        let clock = ManualClock()
        let progress = TransferProgress()
        async let verdict = progress.watch(stall: .seconds(10), limit: .seconds(60), clock: clock)
        for _ in 0..<24 {
            await clock.waitForSleepers()
            try await progress.pass([0]) { _ in }
            clock.advance(by: .milliseconds(2500))
        }
        #expect(await verdict?.code == .stalled)
    }

    // MARK: Listing

    @Test(arguments: [true, false])
    func listsByDirectoryOrByStepping(hasDirectory: Bool) async throws {
        let server = await server { $0.hasDirectory = hasDirectory }
        let listing = try await withClient(of: server) { client, channel in
            try await client.list(via: channel)
        }
        #expect(listing.objects.map(\.id.value) == [0x100, 0x101])
        #expect(listing.objects.map(\.currentSize) == [5000, 3])
        #expect(listing.problems.isEmpty)
    }

    @Test func emptyServer() async throws {
        let server = ObjectServerDouble()
        await server.configure { $0.hasDirectory = false }
        let listing = try await withClient(of: server) { client, channel in
            try await client.list(via: channel)
        }
        #expect(listing.objects.isEmpty && listing.problems.isEmpty)
    }

    @Test func neverEndingListIsCutOff() async throws {
        let server = await server {
            $0.hasDirectory = false
            $0.faults.listsForever = true
        }
        let listing = try await withClient(of: server) { client, channel in
            try await client.list(via: channel)
        }
        #expect(listing.objects.count == DirectoryListing.maximumObjects)
        #expect(listing.problems == [.tooManyObjects])
    }

    @Test func hugeDirectoryIsRefused() async throws {
        let server = await server {
            $0.values[ObjectTransferService.objectSize] = ObjectSize(current: 1 << 30, allocated: 0).wire
        }
        try await withClient(of: server) { client, channel in
            #expect(await code { _ = try await client.list(via: channel) } == .tooLarge)
        }
    }

    // MARK: Delete

    @Test func deletesWhatIsStillTheSame() async throws {
        let server = await server()
        try await withClient(of: server) { client, _ in
            let object = try await client.metadata(of: ObjectID(0x101)!)
            #expect(try await client.delete(object) == .deleted)
            #expect(try await client.delete(object) == .alreadyGone)
        }
        #expect(await server.objects.map(\.metadata.id.value) == [0x100])
    }

    @Test func keepsWhatHasChanged() async throws {
        let server = await server()
        try await withClient(of: server) { client, _ in
            let object = try await client.metadata(of: ObjectID(0x101)!)
            await server.replace(0x101, [1, 2, 3, 4])
            #expect(await code { _ = try await client.delete(object) } == .objectChanged)
        }
        #expect(await server.objects.count == 2)
    }
}
