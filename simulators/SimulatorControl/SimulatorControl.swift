package import DBus
internal import EventLoop
internal import ObjectTransfer
package import RecorderModel

/// The control interface of the simulator on the bus: what a test or a person does to the simulated recorders. It has a
/// connection of its own, so that it outlives a simulated bluetoothd.
package actor SimulatorControl {
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        host.loop.asUnownedSerialExecutor()
    }

    package static let name = "life.ccdw.CelestiaSim1"
    package static let path = ObjectPath(trusted: "/sim")

    private nonisolated let host: any RecorderHost
    private let surroundings: [ExportedMethod]
    private let connection: Connection
    /// Reads a recorder's folder again.
    private let rescan: @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    private var lastShown: [String: String] = [:]

    /// Puts the interface on the bus, with the methods of what is around the recorders. Throws when the bus is not
    /// there, does not allow it, or has a simulator already.
    package static func start(
        _ host: any RecorderHost, busAddress: String, surroundings: [ExportedMethod] = [],
        rescan: @escaping @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    ) async throws(DBusError) -> SimulatorControl {
        let connection = try await Connection.open(busAddress, on: host.loop)
        let control = SimulatorControl(host, connection, surroundings, rescan)
        try await connection.export(ExportedObject(path, [control.interface]))
        try await connection.requestName(name)
        return control
    }

    private init(
        _ host: any RecorderHost, _ connection: Connection, _ surroundings: [ExportedMethod],
        _ rescan: @escaping @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    ) {
        self.host = host
        self.surroundings = surroundings
        self.connection = connection
        self.rescan = rescan
    }

    /// Answers calls until the bus goes.
    package func serve() async {
        await connection.serve()
    }

    /// Passes on what the recorder's display shows.
    package func shown(_ passkey: String, on serial: String) async {
        lastShown[serial] = passkey
        try? await connection.emit(Self.path, Self.name, "Shown", [.string(serial), .string(passkey)])
    }

    package func close() async {
        await connection.close()
    }

    // MARK: The interface

    private typealias Body =
        @Sendable (any RecorderHost, [DBusValue]) async throws(RecorderModelError) -> [DBusValue]

    private func method(
        _ name: String, _ inputs: KeyValuePairs<String, DBusType>,
        out outputs: KeyValuePairs<String, DBusType> = [:], _ body: @escaping Body
    ) -> ExportedMethod {
        let host = host
        return Self.method(name, inputs, out: outputs) { arguments throws(RecorderModelError) in
            try await body(host, arguments)
        }
    }

    /// A method of the interface; what it throws is answered as the simulator's own error.
    package static func method(
        _ name: String, _ inputs: KeyValuePairs<String, DBusType>,
        out outputs: KeyValuePairs<String, DBusType> = [:],
        _ body: @escaping @Sendable ([DBusValue]) async throws(RecorderModelError) -> [DBusValue]
    ) -> ExportedMethod {
        ExportedMethod(
            name, in: inputs.map { ExportedArgument($0, $1) }, out: outputs.map { ExportedArgument($0, $1) }
        ) { call throws(DBusError) in
            do throws(RecorderModelError) {
                return try await body(call.arguments)
            } catch {
                throw .remote("\(Self.name).Error.Refused", error.message)
            }
        }
    }

    private var interface: ExportedInterface {
        ExportedInterface(
            Self.name, methods: recorderMethods + reportMethods + surroundings,
            signals: [
                ExportedSignal(
                    "Shown", [ExportedArgument("serial", .string), ExportedArgument("passkey", .string)])
            ])
    }

    private var recorderMethods: [ExportedMethod] {
        [
            method("SetFault", ["serial": .string, "fault": .string]) {
                host, arguments throws(RecorderModelError) in
                try await host.apply(fault: text(arguments, 1), to: text(arguments, 0))
                return []
            },
            method("ClearFaults", ["serial": .string]) { host, arguments throws(RecorderModelError) in
                try await host.clearFaults(of: text(arguments, 0))
                return []
            },
            method("Confirm", ["serial": .string, "answer": .boolean]) {
                host, arguments throws(RecorderModelError) in
                try await host.confirm(arguments[1].asBool == true, on: text(arguments, 0))
                return []
            },
            method("CutLink", ["serial": .string]) { host, arguments throws(RecorderModelError) in
                await host.cutLink(text(arguments, 0))
                return []
            },
            method("LoseBonds", ["serial": .string]) { host, arguments throws(RecorderModelError) in
                try await host.loseBonds(of: text(arguments, 0))
                return []
            },
            method("Format", ["serial": .string]) { host, arguments throws(RecorderModelError) in
                try await host.format(text(arguments, 0))
                return []
            },
            method("Rescan", ["serial": .string]) { host, arguments throws(RecorderModelError) in
                let serial = text(arguments, 0)
                try await host.rescan(serial, try self.rescan(serial))
                return []
            },
            method("SetBattery", ["serial": .string, "level": .byte]) {
                host, arguments throws(RecorderModelError) in
                try await host.setBattery(UInt8(clamping: arguments[1].asInt64 ?? 0), of: text(arguments, 0))
                return []
            },
            method("SetInRange", ["serial": .string, "inRange": .boolean]) {
                host, arguments throws(RecorderModelError) in
                try await host.setInRange(arguments[1].asBool == true, text(arguments, 0))
                return []
            },
        ]
    }

    private var reportMethods: [ExportedMethod] {
        let record = DBusType.structure([.string, .uint32, .uint32, .int64])
        return [
            method("Recorders", [:], out: ["serials": .array(.string)]) {
                host, _ throws(RecorderModelError) in
                [.strings(await host.serials)]
            },
            method("Transfers", ["serial": .string], out: ["transfers": .array(record)]) {
                host, arguments throws(RecorderModelError) in
                let transfers = try await host.transfers(of: text(arguments, 0))
                let values = transfers.map { transfer in
                    DBusValue.structure([
                        .string(transfer.object.description), .uint32(transfer.offset),
                        .uint32(transfer.length), .int64(transfer.sent),
                    ])
                }
                return [.array(of: record, values)]
            },
            method(
                "Sent", ["serial": .string], out: ["bytes": .dictionary(key: .string, value: .int64)]
            ) { host, arguments throws(RecorderModelError) in
                var sent: [DBusValue: Int64] = [:]
                for transfer in try await host.transfers(of: text(arguments, 0)) {
                    sent[.string(transfer.object.description), default: 0] += transfer.sent
                }
                return [.dictionary(key: .string, value: .int64, sent.mapValues { .int64($0) })]
            },
            method("Requests", ["serial": .string], out: ["count": .uint32]) {
                host, arguments throws(RecorderModelError) in
                [.uint32(try await host.requestCount(of: text(arguments, 0)))]
            },
            method("Deleted", ["serial": .string], out: ["objects": .array(.string)]) {
                host, arguments throws(RecorderModelError) in
                [.strings(try await host.deletedObjects(of: text(arguments, 0)))]
            },
            method(
                "Clock", ["serial": .string], out: ["unixMilliseconds": .int64, "zoneOffset": .int16]
            ) { host, arguments throws(RecorderModelError) in
                guard let clock = try await host.clock(of: text(arguments, 0)) else {
                    throw RecorderModelError(.fault, "no hub has written the clock")
                }
                return [.int64(clock.unixMilliseconds), .int16(clock.zoneOffsetMinutes)]
            },
            method("LastShown", ["serial": .string], out: ["passkey": .string]) {
                _, arguments throws(RecorderModelError) in
                [.string(await self.lastShown[text(arguments, 0)] ?? "")]
            },
        ]
    }
}

private func text(_ arguments: [DBusValue], _ position: Int) -> String {
    arguments[position].asString ?? ""
}
