import CSQLite
import FoundationEssentials

/// What a STRICT table can hold.
enum SQLValue {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let value): return sqlite3_bind_int64(statement, index, value)
        case .text(var text):
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { chars in
                    // A null pointer would bind NULL; an empty string has none to give.
                    chars.isEmpty
                        ? celestia_sqlite_bind_text(statement, index, "", 0)
                        : celestia_sqlite_bind_text(statement, index, chars.baseAddress, UInt64(chars.count))
                }
            }
        case .blob(let bytes):
            if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, index, 0) }
            return celestia_sqlite_bind_blob(statement, index, bytes, UInt64(bytes.count))
        }
    }
}

/// A Swift value that can be bound to a statement.
protocol SQLConvertible {
    var sqlValue: SQLValue { get }
}

extension SQLValue: SQLConvertible { var sqlValue: SQLValue { self } }

extension Int64: SQLConvertible { var sqlValue: SQLValue { .integer(self) } }
extension Int: SQLConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension UInt32: SQLConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension Bool: SQLConvertible { var sqlValue: SQLValue { .integer(self ? 1 : 0) } }
extension String: SQLConvertible { var sqlValue: SQLValue { .text(self) } }
extension [UInt8]: SQLConvertible { var sqlValue: SQLValue { .blob(self) } }
extension Date: SQLConvertible { var sqlValue: SQLValue { .integer(milliseconds) } }
extension SHA256Digest: SQLConvertible { var sqlValue: SQLValue { .text(hex) } }
extension SessionID: SQLConvertible { var sqlValue: SQLValue { .text(text) } }
extension AssetID: SQLConvertible { var sqlValue: SQLValue { .text(text) } }

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    var sqlValue: SQLValue { self?.sqlValue ?? .null }
}

extension SQLConvertible where Self: RawRepresentable, RawValue == String {
    var sqlValue: SQLValue { .text(rawValue) }
}

extension Date {
    /// Unix time in milliseconds, the form in which every row keeps a time; out-of-range dates are clamped.
    var milliseconds: Int64 { Int64(exactly: (timeIntervalSince1970 * 1000).rounded()) ?? 0 }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

/// Reads the columns of the current row from left to right. A value of an unexpected type is an error:
/// the file is outside input.
struct RowReader {
    private let statement: OpaquePointer
    private var column: Int32 = -1

    init(statement: OpaquePointer) { self.statement = statement }

    mutating func int64OrNil() throws(QueueError) -> Int64? {
        column += 1
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return nil
        case SQLITE_INTEGER: return sqlite3_column_int64(statement, column)
        default: throw unexpected("an integer")
        }
    }

    mutating func textOrNil() throws(QueueError) -> String? {
        column += 1
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, column) else { return "" }
            let count = Int(sqlite3_column_bytes(statement, column))
            return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
        default: throw unexpected("text")
        }
    }

    mutating func blobOrNil() throws(QueueError) -> [UInt8]? {
        column += 1
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return nil
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            guard count > 0, let blob = sqlite3_column_blob(statement, column) else { return [] }
            return [UInt8](UnsafeRawBufferPointer(start: blob, count: count))
        default: throw unexpected("a blob")
        }
    }

    /// Whatever the column holds.
    mutating func any() -> SQLValue {
        column += 1
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
            let text = sqlite3_column_text(statement, column).map { String(cString: $0) }
            return .text(text ?? "")
        default: return .null
        }
    }

    mutating func int64() throws(QueueError) -> Int64 { try required(try int64OrNil()) }
    mutating func int() throws(QueueError) -> Int { try required(Int(exactly: try int64())) }
    mutating func uint32() throws(QueueError) -> UInt32 { try required(UInt32(exactly: try int64())) }
    mutating func bool() throws(QueueError) -> Bool { try int64() != 0 }
    mutating func text() throws(QueueError) -> String { try required(try textOrNil()) }
    mutating func blob() throws(QueueError) -> [UInt8] { try required(try blobOrNil()) }
    mutating func date() throws(QueueError) -> Date { Date(milliseconds: try int64()) }

    mutating func dateOrNil() throws(QueueError) -> Date? {
        guard let value = try int64OrNil() else { return nil }
        return Date(milliseconds: value)
    }

    mutating func uint32OrNil() throws(QueueError) -> UInt32? {
        guard let value = try int64OrNil() else { return nil }
        return try required(UInt32(exactly: value))
    }

    mutating func intOrNil() throws(QueueError) -> Int? {
        guard let value = try int64OrNil() else { return nil }
        return try required(Int(exactly: value))
    }

    mutating func value<T: RawRepresentable<String>>(_: T.Type = T.self) throws(QueueError) -> T {
        try required(T(rawValue: try text()))
    }

    mutating func valueOrNil<T: RawRepresentable<String>>(_: T.Type = T.self) throws(QueueError) -> T? {
        guard let text = try textOrNil() else { return nil }
        return try required(T(rawValue: text))
    }

    mutating func digestOrNil() throws(QueueError) -> SHA256Digest? {
        guard let text = try textOrNil() else { return nil }
        return try required(SHA256Digest(hex: text))
    }

    mutating func sessionID() throws(QueueError) -> SessionID { try required(SessionID(try text())) }
    mutating func assetID() throws(QueueError) -> AssetID { try required(AssetID(try text())) }

    private func required<T>(_ value: T?) throws(QueueError) -> T {
        guard let value else { throw unexpected("another value") }
        return value
    }

    private func unexpected(_ wanted: String) -> QueueError {
        let name = sqlite3_column_name(statement, column).map { String(cString: $0) } ?? "?"
        return QueueError(.corrupt, "column \(name) of the queue should hold \(wanted)")
    }
}
