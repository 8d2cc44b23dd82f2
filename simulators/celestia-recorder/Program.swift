import DBus
import EventLoop
import FakeBlueZ
import Glibc
import RecorderModel

@main
enum Program {
    static func main() async {
        let options: Options
        do throws(UsageError) {
            options = try Options(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Output.complain("\(error.message); see --help")
            exit(2)
        }
        guard !options.wantsHelp else { return Output.write(Options.help, to: 1) }
        do {
            try await run(options)
        } catch {
            Output.complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        let keeper = try StateKeeper(path: options.stateFile)
        let folders = try options.captures.map { path in
            try CaptureFolder(path: path, hashing: options.hashesFiles)
        }
        for remark in folders.flatMap(\.remarks) { Output.complain(remark) }
        let loop = try EventLoop.start(name: "bluez")
        let scene = Scene(options: options, folders: folders, keeper: keeper, loop: loop)
        if let adapter = options.adapter {
            try await scene.runOnRadio(adapter)
        } else {
            try await scene.runInSimulation()
        }
    }
}
