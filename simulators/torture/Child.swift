import Glibc

/// One run of the workload in a process of its own.
struct Child {
    /// How a process ended.
    enum Ending: Equatable, CustomStringConvertible {
        case code(Int32)
        /// By SIGKILL, which only we send.
        case killed
        /// By any other signal: a trap, an abort.
        case crashed(Int32)

        init(_ status: Int32) {
            let signal = status & 0x7F
            self = signal == 0 ? .code((status >> 8) & 0xFF) : signal == SIGKILL ? .killed : .crashed(signal)
        }

        var description: String {
            switch self {
            case .code(let code): "exit code \(code)"
            case .killed: "killed"
            case .crashed(let signal): "crashed by signal \(signal)"
            }
        }
    }

    let pid: pid_t
    /// What it says, and where it is answered.
    let output: Int32
    let input: Int32

    /// Starts this very program as the workload. `environment` is added to ours.
    static func start(_ arguments: [String], environment: [String: String]) throws -> Child {
        var (toChild, fromChild): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw Failure("no pipe") }
        for descriptor in [toChild[1], fromChild[0]] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        for descriptor in [toChild[0], fromChild[1]] {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let pid = try spawn("/proc/self/exe", ["celestia-torture"] + arguments, environment, &actions)
        close(toChild[0])
        close(fromChild[1])
        return Child(pid: pid, output: fromChild[0], input: toChild[1])
    }

    func answer(_ bytes: [UInt8]) { _ = Lines.write(bytes, to: input) }

    func end() { Glibc.kill(pid, SIGKILL) }

    func wait() -> Ending {
        close(output)
        close(input)
        return Self.reap(pid)
    }

    static func reap(_ pid: pid_t) -> Ending {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return Ending(status)
    }

    static func spawn(
        _ program: String, _ arguments: [String], _ environment: [String: String],
        _ actions: inout posix_spawn_file_actions_t
    ) throws -> pid_t {
        var argv = arguments.map { strdup($0) } + [nil]
        var inherited: [String] = []
        var pointer = environ
        while let entry = pointer.pointee {
            inherited.append(String(cString: entry))
            pointer += 1
        }
        let kept = inherited.filter { line in !environment.keys.contains { line.hasPrefix($0 + "=") } }
        var envp = (kept + environment.map { "\($0.key)=\($0.value)" }).map { strdup($0) } + [nil]
        defer {
            for text in argv { free(text) }
            for text in envp { free(text) }
        }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, &actions, nil, &argv, &envp)
        guard code == 0 else {
            throw Failure("\(program) does not start: \(String(cString: strerror(code)))")
        }
        return pid
    }

    /// Runs a program of the system to its end.
    static func run(_ arguments: String...) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        let ending = reap(try spawn(arguments[0], arguments, [:], &actions))
        guard ending == .code(0) else { throw Failure("\(arguments.joined(separator: " ")): \(ending)") }
    }
}

/// What went wrong, in words.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Lines and bytes over pipes. Lines are short and read byte by byte, because nothing may be read ahead.
enum Lines {
    static func say(_ line: String, to descriptor: Int32) {
        _ = write(Array("\(line)\n".utf8), to: descriptor)
    }

    /// All of them; false when the other end is gone.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    static func next(_ descriptor: Int32) -> String? {
        var line: [UInt8] = []
        while let byte = bytes(1, from: descriptor)?[0] {
            if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// Exactly so many; nil when they end before.
    static func bytes(_ count: Int, from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + done }, count - done)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return nil }
            done += got
        }
        return bytes
    }
}
