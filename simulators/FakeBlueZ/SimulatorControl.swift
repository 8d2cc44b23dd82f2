package import DBus
internal import EventLoop
internal import ObjectTransfer
package import RecorderModel

/// The control interface of the simulator on the bus: what a test or a person does to the simulated world. It has a
/// connection of its own, so that it outlives a simulated bluetoothd.
package actor SimulatorControl {
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        blueZ.loop.asUnownedSerialExecutor()
    }

    package static let name = "life.ccdw.CelestiaSim1"
    package static let path = ObjectPath(trusted: "/sim")

    private let blueZ: FakeBlueZ
    private let connection: Connection
    /// Reads a recorder's folder again.
    private let rescan: @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    private var lastShown: [String: String] = [:]

    /// Puts the interface on the bus. Throws when the bus is not there or has a simulator already.
    package static func start(
        _ blueZ: FakeBlueZ, busAddress: String,
        rescan: @escaping @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    ) async throws(DBusError) -> SimulatorControl {
        let connection = try await Connection.open(busAddress, on: blueZ.loop)
        let control = SimulatorControl(blueZ, connection, rescan)
        try await connection.export(ExportedObject(path, [control.interface]))
        try await connection.requestName(name)
        return control
    }

    private init(
        _ blueZ: FakeBlueZ, _ connection: Connection,
        _ rescan: @escaping @Sendable (_ serial: String) throws(RecorderModelError) -> CaptureFolder
    ) {
        self.blueZ = blueZ
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
        @Sendable (FakeBlueZ, [DBusValue]) async throws(RecorderModelError) -> [DBusValue]

    private func method(
        _ name: String, _ inputs: KeyValuePairs<String, DBusType>,
        out outputs: KeyValuePairs<String, DBusType> = [:], _ body: @escaping Body
    ) -> ExportedMethod {
        ExportedMethod(
            name, in: inputs.map { ExportedArgument($0, $1) }, out: outputs.map { ExportedArgument($0, $1) }
        ) { call throws(DBusError) in
            do throws(RecorderModelError) {
                return try await body(self.blueZ, call.arguments)
            } catch {
                throw .remote("\(Self.name).Error.Refused", error.message)
            }
        }
    }

    private var interface: ExportedInterface {
        ExportedInterface(
            Self.name, methods: recorderMethods + reportMethods + surroundingMethods,
            signals: [
                ExportedSignal(
                    "Shown", [ExportedArgument("serial", .string), ExportedArgument("passkey", .string)])
            ])
    }

    private var recorderMethods: [ExportedMethod] {
        [
            method("SetFault", ["serial": .string, "fault": .string]) {
                blueZ, arguments throws(RecorderModelError) in
                try await blueZ.apply(fault: text(arguments, 1), to: text(arguments, 0))
                return []
            },
            method("ClearFaults", ["serial": .string]) { blueZ, arguments throws(RecorderModelError) in
                try await blueZ.clearFaults(of: text(arguments, 0))
                return []
            },
            method("Confirm", ["serial": .string, "answer": .boolean]) {
                blueZ, arguments throws(RecorderModelError) in
                try await blueZ.confirm(arguments[1].asBool == true, on: text(arguments, 0))
                return []
            },
            method("CutLink", ["serial": .string]) { blueZ, arguments throws(RecorderModelError) in
                await blueZ.cutLink(text(arguments, 0))
                return []
            },
            method("LoseBonds", ["serial": .string]) { blueZ, arguments throws(RecorderModelError) in
                try await blueZ.loseBonds(of: text(arguments, 0))
                return []
            },
            method("Format", ["serial": .string]) { blueZ, arguments throws(RecorderModelError) in
                try await blueZ.format(text(arguments, 0))
                return []
            },
            method("Rescan", ["serial": .string]) { blueZ, arguments throws(RecorderModelError) in
                let serial = text(arguments, 0)
                try await blueZ.rescan(serial, try self.rescan(serial))
                return []
            },
            method("SetBattery", ["serial": .string, "level": .byte]) {
                blueZ, arguments throws(RecorderModelError) in
                try await blueZ.setBattery(UInt8(clamping: arguments[1].asInt64 ?? 0), of: text(arguments, 0))
                return []
            },
            method("SetInRange", ["serial": .string, "inRange": .boolean]) {
                blueZ, arguments throws(RecorderModelError) in
                try await blueZ.setInRange(arguments[1].asBool == true, text(arguments, 0))
                return []
            },
        ]
    }

    private var reportMethods: [ExportedMethod] {
        let record = DBusType.structure([.string, .uint32, .uint32, .int64])
        return [
            method("Recorders", [:], out: ["serials": .array(.string)]) {
                blueZ, _ throws(RecorderModelError) in
                [.strings(await blueZ.serials)]
            },
            method("Transfers", ["serial": .string], out: ["transfers": .array(record)]) {
                blueZ, arguments throws(RecorderModelError) in
                let transfers = try await blueZ.transfers(of: text(arguments, 0))
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
            ) { blueZ, arguments throws(RecorderModelError) in
                var sent: [DBusValue: Int64] = [:]
                for transfer in try await blueZ.transfers(of: text(arguments, 0)) {
                    sent[.string(transfer.object.description), default: 0] += transfer.sent
                }
                return [.dictionary(key: .string, value: .int64, sent.mapValues { .int64($0) })]
            },
            method("Deleted", ["serial": .string], out: ["objects": .array(.string)]) {
                blueZ, arguments throws(RecorderModelError) in
                [.strings(try await blueZ.deletedObjects(of: text(arguments, 0)))]
            },
            method(
                "Clock", ["serial": .string], out: ["unixMilliseconds": .int64, "zoneOffset": .int16]
            ) { blueZ, arguments throws(RecorderModelError) in
                guard let clock = try await blueZ.clock(of: text(arguments, 0)) else {
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

    private var surroundingMethods: [ExportedMethod] {
        [
            method("StopBluetoothd", [:]) { blueZ, _ throws(RecorderModelError) in
                await blueZ.stop()
                return []
            },
            method("StartBluetoothd", [:]) { blueZ, _ throws(RecorderModelError) in
                try await startBluetoothd(blueZ)
                return []
            },
            method("RestartBluetoothd", [:]) { blueZ, _ throws(RecorderModelError) in
                await blueZ.stop()
                try await startBluetoothd(blueZ)
                return []
            },
            method("RemoveAdapter", ["name": .string]) { blueZ, arguments throws(RecorderModelError) in
                await blueZ.removeAdapter(text(arguments, 0))
                return []
            },
            method("AddAdapter", ["name": .string, "address": .string]) {
                blueZ, arguments throws(RecorderModelError) in
                guard ObjectPath("/" + text(arguments, 0)) != nil else {
                    throw RecorderModelError(.fault, "\(text(arguments, 0)) cannot name an adapter")
                }
                await blueZ.addAdapter(.init(name: text(arguments, 0), address: text(arguments, 1)))
                return []
            },
            method("SetBlocked", ["name": .string, "blocked": .boolean]) {
                blueZ, arguments throws(RecorderModelError) in
                await blueZ.setBlocked(text(arguments, 0), arguments[1].asBool == true)
                return []
            },
        ]
    }
}

private func text(_ arguments: [DBusValue], _ position: Int) -> String {
    arguments[position].asString ?? ""
}

private func startBluetoothd(_ blueZ: FakeBlueZ) async throws(RecorderModelError) {
    do throws(DBusError) {
        try await blueZ.start()
    } catch {
        throw RecorderModelError(.fault, error.message)
    }
}
