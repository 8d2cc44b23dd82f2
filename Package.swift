// swift-tools-version: 6.2
import PackageDescription

/// One set of settings for every target: a warning is an error, and the upcoming features that make
/// isolation and imports explicit are on everywhere.
let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// A C library from Debian, reached through a module map and a `shim.h` of inline wrappers.
func cLibrary(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
    .systemLibrary(name: name, path: "Sources/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil, exclude: [String] = [],
    resources: [Resource]? = nil
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path, exclude: exclude, resources: resources,
        swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "celestiad",
    targets: [
        cLibrary("CLinux", apt: "libc6-dev"),
        cLibrary("CDBus", pkgConfig: "dbus-1", apt: "libdbus-1-dev"),
        cLibrary("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        cLibrary("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        cLibrary("CBluetooth", apt: "libbluetooth-dev"),
        cLibrary("CSystemd", pkgConfig: "libsystemd", apt: "libsystemd-dev"),
        cLibrary("CCrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
        cLibrary("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        // Its headers only: the library is loaded where a broker is configured.
        cLibrary("CMosquitto", apt: "libmosquitto-dev"),

        module("EventLoop", ["CLinux"]),
        module("DBus", ["EventLoop", "CDBus"]),
        module("BlueZ", ["DBus", "EventLoop", "CBluetooth"]),
        module("Dates"),
        module("Archive", ["CZlib"]),
        module("MQTT", ["EventLoop", "CMosquitto"]),
        module("ObjectTransfer", ["CZlib"]),
        module("Recorder", ["Dates", "ObjectTransfer"]),
        module("CaptureQueue", ["CSQLite", "CCrypto"]),
        module("HTTP", ["Dates", "EventLoop", "CCurl"]),
        module("Cloud", ["Dates", "HTTP", "EventLoop"]),
        module(
            "Gateway",
            [
                "Dates", "EventLoop", "DBus", "BlueZ", "ObjectTransfer", "Recorder", "CaptureQueue", "HTTP",
                "Cloud",
                "CSystemd",
            ]),
        // Sources/Control/Interfaces is a link to dbus/: what is installed is what Introspect answers.
        module(
            "Control", ["DBus", "EventLoop"], exclude: ["Interfaces/life.ccdw.Celestia1.conf"],
            resources: [
                .embedInCode("Interfaces/life.ccdw.Celestia1.Manager.xml"),
                .embedInCode("Interfaces/life.ccdw.Celestia1.Cloud.xml"),
                .embedInCode("Interfaces/life.ccdw.Celestia1.Recorder.xml"),
                .embedInCode("Interfaces/life.ccdw.Celestia1.Session.xml"),
                .embedInCode("Interfaces/life.ccdw.Celestia1.Job.xml"),
            ]),
        program(
            "celestiad",
            [
                "Gateway", "Control", "Archive", "MQTT", "Dates", "DBus", "EventLoop", "BlueZ", "Recorder",
                "CaptureQueue", "HTTP", "Cloud",
            ]),

        module(
            "RecorderModel", ["Dates", "ObjectTransfer", "Recorder", "CCrypto"],
            path: "simulators/RecorderModel"),
        module(
            "SimulatorControl", ["RecorderModel", "ObjectTransfer", "Recorder", "DBus", "EventLoop"],
            path: "simulators/SimulatorControl"),
        module(
            "FakeBlueZ", ["RecorderModel", "SimulatorControl", "DBus", "EventLoop"],
            path: "simulators/FakeBlueZ"),
        module(
            "BlueZPeripheral",
            [
                "RecorderModel", "SimulatorControl", "ObjectTransfer", "Recorder", "BlueZ", "DBus",
                "EventLoop", "CBluetooth",
            ],
            path: "simulators/BlueZPeripheral", exclude: ["life.ccdw.CelestiaSim1.conf"]),
        program(
            "celestia-recorder",
            ["FakeBlueZ", "BlueZPeripheral", "RecorderModel", "SimulatorControl", "DBus", "EventLoop"],
            path: "simulators/celestia-recorder"),

        .systemLibrary(
            name: "CTorture", path: "simulators/torture/CTorture", providers: [.apt(["libc6-dev"])]),
        .executableTarget(
            name: "celestia-torture",
            dependencies: ["CaptureQueue", "Cloud", "EventLoop", "Gateway", "HTTP", "CTorture"],
            path: "simulators/torture", exclude: ["CTorture"], swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["DBus", "EventLoop", "ObjectTransfer", "Recorder"],
            path: "Tests/TestSupport", swiftSettings: settings),
        tests("EventLoopTests", ["EventLoop"]),
        tests("DBusTests", ["DBus", "EventLoop"]),
        tests("BlueZTests", ["BlueZ", "DBus", "EventLoop"]),
        tests("ObjectTransferTests", ["ObjectTransfer", "EventLoop"]),
        tests("DatesTests", ["Dates"]),
        tests("ArchiveTests", ["Archive"]),
        tests("MQTTTests", ["MQTT", "EventLoop"]),
        tests("RecorderTests", ["Dates", "Recorder", "ObjectTransfer", "EventLoop"]),
        tests("CaptureQueueTests", ["CaptureQueue", "EventLoop"]),
        tests("HTTPTests", ["HTTP", "EventLoop", "CCurl"], exclude: ["Support/misbehaving-server.py"]),
        tests("CloudTests", ["Dates", "Cloud", "HTTP", "EventLoop"]),
        tests(
            "GatewayTests",
            ["Gateway", "Dates", "EventLoop", "ObjectTransfer", "Recorder", "CaptureQueue", "Cloud", "HTTP"]),
        tests(
            "ControlTests",
            ["celestiad", "Control", "DBus", "EventLoop", "CaptureQueue", "Cloud", "Gateway", "MQTT"]),
        tests("RecorderModelTests", ["RecorderModel", "ObjectTransfer", "Recorder"]),
        tests(
            "FakeBlueZTests",
            [
                "FakeBlueZ", "RecorderModel", "SimulatorControl", "ObjectTransfer", "Recorder", "DBus",
                "EventLoop",
                "celestia-recorder",
            ]),
        tests(
            "SystemTests", ["celestiad", "celestia-recorder", "Control", "DBus", "EventLoop", "CaptureQueue"]),
    ],
    swiftLanguageModes: [.v6]
)
