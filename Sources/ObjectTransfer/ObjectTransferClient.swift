/// The client of one object server over one link: control points, metadata, transfers. Everything acts on the
/// server's one current object, so its user does one thing after the other.
///
/// Responses are received only inside ``whileReceiving(_:)``.
package actor ObjectTransferClient {
    /// What the server can do.
    package nonisolated let features: ObjectTransferFeatures

    nonisolated let link: any GATTLink
    nonisolated let clock: any Clock<Duration>
    nonisolated let deadlines: ObjectTransferDeadlines
    private nonisolated let actionResponses: AsyncStream<[UInt8]>
    private nonisolated let listResponses: AsyncStream<[UInt8]>

    private struct Waiter {
        let point: GATTCharacteristicID
        let opcode: UInt8
        let answer: AsyncStream<[UInt8]>.Continuation
    }

    private var waiter: Waiter?
    /// Why nothing more can be done on the link, once that is so.
    package private(set) var failure: ObjectTransferError?

    /// How many indications came that nobody waited for; they were ignored.
    package private(set) var ignoredResponses = 0

    /// Subscribes to both control points and reads what the server can do. Throws what the link throws.
    package init(
        over link: any GATTLink, clock: any Clock<Duration> = ContinuousClock(),
        deadlines: ObjectTransferDeadlines = ObjectTransferDeadlines()
    ) async throws(ObjectTransferError) {
        (self.link, self.clock, self.deadlines) = (link, clock, deadlines)
        actionResponses = try await withDeadline(deadlines.attribute, clock: clock, "subscribing") {
            () async throws(ObjectTransferError) in
            try await link.subscribe(ObjectTransferService.actionControlPoint)
        }
        listResponses = try await withDeadline(deadlines.attribute, clock: clock, "subscribing") {
            () async throws(ObjectTransferError) in
            try await link.subscribe(ObjectTransferService.listControlPoint)
        }
        let value = try await withDeadline(deadlines.attribute, clock: clock, "reading the features") {
            () async throws(ObjectTransferError) in
            try await link.read(ObjectTransferService.feature)
        }
        features = try ObjectTransferFeatures(wire: value)
    }

    /// Runs `body` while indications are received; every use of the client belongs into it.
    package nonisolated func whileReceiving<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withTaskGroup(of: Result<Value, Failure>?.self) { group in
            group.addTask { await self.receive(from: ObjectTransferService.actionControlPoint) }
            group.addTask { await self.receive(from: ObjectTransferService.listControlPoint) }
            group.addTask {
                do throws(Failure) {
                    return .success(try await body())
                } catch {
                    return .failure(error)
                }
            }
            while true {
                // The body's task always gives a result, so there is one before the group is empty.
                guard let result = await group.next() ?? nil else { continue }
                group.cancelAll()
                return result
            }
        }
        return try result.get()
    }

    private nonisolated func receive<Value>(from point: GATTCharacteristicID) async -> Value? {
        let isActions = point == ObjectTransferService.actionControlPoint
        for await value in isActions ? actionResponses : listResponses {
            await deliver(value, from: point)
        }
        await linkEnded(
            Task.isCancelled
                ? ObjectTransferError(.cancelled, "cancelled")
                : ObjectTransferError(.linkLost, "the link to the recorder was lost"))
        return nil
    }

    private func linkEnded(_ error: ObjectTransferError) {
        if failure == nil { failure = error }
        waiter?.answer.finish()
    }

    private func deliver(_ value: [UInt8], from point: GATTCharacteristicID) {
        let marker =
            point == ObjectTransferService.actionControlPoint
            ? ObjectActionResponse.opcode : ObjectListResponse.opcode
        guard let waiter, waiter.point == point, value.count >= 3, value[0] == marker,
            value[1] == waiter.opcode
        else {
            ignoredResponses += 1
            return
        }
        waiter.answer.yield(value)
    }

    /// Writes `request` to a control point and waits for the indication that echoes its op code. The waiter
    /// is armed first, since some servers indicate before they acknowledge the write.
    private func exchange(
        _ request: [UInt8], with point: GATTCharacteristicID, within limit: Duration
    ) async throws(ObjectTransferError) -> [UInt8] {
        if let failure { throw failure }
        guard waiter == nil, let opcode = request.first else {
            throw ObjectTransferError(.busy, "another control point operation is running")
        }
        let (answers, answer) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingOldest(1))
        waiter = Waiter(point: point, opcode: opcode, answer: answer)
        defer { waiter = nil }
        do throws(ObjectTransferError) {
            let link = link
            try await withDeadline(deadlines.attribute, clock: clock, "writing to a control point") {
                () async throws(ObjectTransferError) in
                try await link.write(request, to: point)
            }
            return try await withDeadline(limit, clock: clock, "waiting for a control point") {
                () async throws(ObjectTransferError) in
                for await value in answers { return value }
                throw ObjectTransferError(
                    Task.isCancelled ? .cancelled : .linkLost, "the link ended before the answer came")
            }
        } catch {
            // A late answer could be taken for that of the next request: this link is spent.
            if error.code == .timedOut { failure = error }
            throw failure ?? error
        }
    }

    /// Runs a list procedure and returns its response, whatever the result. Throws when there is none.
    package func perform(
        _ request: ObjectListRequest
    ) async throws(ObjectTransferError) -> ObjectListResponse {
        let value = try await exchange(
            request.wire, with: ObjectTransferService.listControlPoint, within: deadlines.controlPoint)
        return try ObjectListResponse(wire: value)
    }

    /// Runs an action on the current object once and returns its response, whatever the result.
    package func perform(
        _ request: ObjectActionRequest, within limit: Duration? = nil
    ) async throws(ObjectTransferError) -> ObjectActionResponse {
        let value = try await exchange(
            request.wire, with: ObjectTransferService.actionControlPoint,
            within: limit ?? deadlines.controlPoint)
        return try ObjectActionResponse(wire: value)
    }

    /// Runs an action until it succeeds, again after a while where the object is locked; throws any other
    /// result as `action`. An object that stays locked ends the link, which alone can free it.
    func succeed(
        _ request: ObjectActionRequest, within limit: Duration? = nil
    ) async throws(ObjectTransferError) -> ObjectActionResponse {
        for wait in deadlines.lockedBackoff {
            let response = try await perform(request, within: limit)
            guard response.result == .objectLocked else { return try response.checked() }
            do {
                try await clock.sleep(for: wait)
            } catch {
                throw ObjectTransferError(.cancelled, "cancelled")
            }
        }
        let response = try await perform(request, within: limit)
        guard response.result == .objectLocked else { return try response.checked() }
        throw ObjectTransferError(
            .action(.objectLocked), "\(request.opcode): the object stays locked", endsLink: true)
    }
}

extension ObjectActionResponse {
    /// The response itself after success; anything else is thrown.
    func checked() throws(ObjectTransferError) -> Self {
        guard result == .success else {
            throw ObjectTransferError(.action(result), "\(request): the server answered \(result)")
        }
        return self
    }
}
