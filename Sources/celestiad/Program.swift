import Control
import EventLoop
import FoundationEssentials
import Glibc

@main
enum Program {
    /// In the order of the list of verbs.
    static let verbs: [Verb] = [
        RunVerb.verb, ScanVerb.verb, PairVerb.verb, ForgetVerb.verb, DevicesVerb.verb, DeviceVerb.verb,
        SessionsVerb.verb, SessionVerb.verb, ImportVerb.verb, StorageVerb.verb,
        AccountVerb.verb, LoginVerb.verb, LogoutVerb.verb, CloudVerb.verb, ConfigVerb.verb, StatusVerb.verb,
        DoctorVerb.verb,
        SyncVerb.verb,
        VersionVerb.verb, CompletionsVerb.verb, ManualVerb.verb, HelpVerb.verb,
    ]

    static func main() async {
        occupyStandardFiles()
        ProcessMemory.keepSmall()
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// A standard file that was closed is not to be one of ours: what is printed would go there. It fails as before.
    private static func occupyStandardFiles() {
        for fd in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(fd, F_GETFD) < 0 {
            // The lowest number that is free, so this one.
            _ = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func run(_ words: [String]) async -> ExitCode {
        let environment = ProcessInfo.processInfo.environment
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop.start()
        } catch {
            _ = write(STDERR_FILENO, "celestiad: no event loop\n", 25)
            return .failure
        }
        let console = Console.standard(environment: environment, input: StandardInput(loop: loop))
        let runner = CommandRunner(
            verbs: verbs, console: console, environment: environment, loop: loop,
            signals: { try? SignalSource.stream([SIGINT, SIGTERM, SIGHUP], on: loop) })
        return await runner.run(words)
    }
}
