/// Takes the place of setpriority(2) in this program. libdispatch calls it for each of its threads and asks for more than
/// an unprivileged user may have: every start, also of the command line, left an error in the system's log. No thread
/// here has a reason to differ.
@_cdecl("setpriority")
func keepPriority(_ which: Int32, _ who: UInt32, _ value: Int32) -> Int32 { 0 }
