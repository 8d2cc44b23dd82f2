/// Cuts the answer to `GET /sessions` into its sessions while it arrives, so that an account's whole history is never in
/// memory at once (upload.md C-39). What is around them remains as an envelope whose `data` is an empty list.
///
/// Pure: bytes in, whole elements out. It only finds where elements end; whether they are JSON is for their decoder.
struct SessionListScanner {
    private enum Place {
        case envelope, list, element
    }

    /// More than any session; what is larger is counted and stepped over.
    private let elementLimit: Int
    private static let headLimit = 1 << 20

    /// The answer without its sessions.
    private(set) var head: [UInt8] = []
    /// Whether `data` was a list.
    private(set) var hasList = false
    /// Elements that were too large.
    private(set) var oversizedCount = 0

    private var place = Place.envelope
    /// Open brackets: of the answer in the envelope, of the element in one.
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var string: [UInt8] = []
    private var key: [UInt8] = []
    private var element: [UInt8] = []
    private var isOversized = false

    init(elementLimit: Int = 4 << 20) {
        self.elementLimit = elementLimit
    }

    /// Takes in the next bytes; `found` gets each element that they complete.
    mutating func feed(_ bytes: UnsafeRawBufferPointer, found: ([UInt8]) -> Void) {
        for byte in bytes {
            switch place {
            case .envelope: takeEnvelope(byte)
            case .list: takeList(byte, found)
            case .element: takeElement(byte, found)
            }
        }
    }

    private mutating func takeEnvelope(_ byte: UInt8) {
        if head.count < Self.headLimit { head.append(byte) }
        if isInString {
            if !isEscaped, byte == UInt8(ascii: "\"") {
                isInString = false
            } else if string.count < 8 {
                string.append(byte)
            }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInString = true
            string = []
        case UInt8(ascii: ":"): if depth == 1 { key = string }
        case UInt8(ascii: ","): if depth == 1 { key = [] }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            if depth == 1, byte == UInt8(ascii: "["), key.elementsEqual("data".utf8) {
                place = .list
                hasList = true
            } else {
                depth += 1
            }
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth = max(0, depth - 1)
        default: break
        }
    }

    private mutating func takeList(_ byte: UInt8, _ found: ([UInt8]) -> Void) {
        switch byte {
        case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D: break
        case UInt8(ascii: "]"):
            head.append(byte)
            place = .envelope
            key = []
        default:
            place = .element
            depth = 0
            takeElement(byte, found)
        }
    }

    private mutating func takeElement(_ byte: UInt8, _ found: ([UInt8]) -> Void) {
        if depth == 0, !isInString, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
            end(found)
            return takeList(byte, found)
        }
        if element.count < elementLimit { element.append(byte) } else { isOversized = true }
        if isInString {
            if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            return
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
    }

    private mutating func end(_ found: ([UInt8]) -> Void) {
        if isOversized { oversizedCount += 1 } else { found(element) }
        element.removeAll(keepingCapacity: element.capacity <= 64 << 10)
        isOversized = false
        depth = 1
        place = .list
    }
}
