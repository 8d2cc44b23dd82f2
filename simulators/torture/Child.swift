import Glibc

/// One run of the workload in a process of its own.
struct Child {
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

    func answer(_ text: String) {
        let bytes = Array("\(text)\n".utf8)
        _ = write(input, bytes, bytes.count)
    }

    func end() { Glibc.kill(pid, SIGKILL) }

    /// How it ended: nil for a kill, otherwise its exit code.
    func wait() -> Int32? {
        close(output)
        close(input)
        return Self.reap(pid)
    }

    static func reap(_ pid: pid_t) -> Int32? {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
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
        let pid = try spawn(arguments[0], arguments, [:], &actions)
        let code = reap(pid)
        guard code == 0 else {
            throw Failure("\(arguments.joined(separator: " ")) failed (\(code.map(String.init) ?? "killed"))")
        }
    }
}
