// What the C library asks of its system, for a reader that lives in memory: files by name, a clock, random bytes. There is no
// network, no environment and no screen; what is written to the standard streams goes to the console.

const OK = 0, BAD_FILE = 8, EXISTS = 20, INVALID = 28, NOT_FOUND = 44;
const CREATE = 1, EXCLUSIVE = 4, TRUNCATE = 8; // of path_open
const DIRECTORY = 3, REGULAR = 4; // types of files
const ROOT = 3; // the descriptor that the library is given for "/"

/** Bytes that can grow. */
class MemoryFile {
  constructor(private room: Uint8Array = new Uint8Array(0), public length = room.length) {}

  get bytes(): Uint8Array {
    return this.room.subarray(0, this.length);
  }

  write(at: number, bytes: Uint8Array): void {
    this.resize(Math.max(this.length, at + bytes.length));
    this.room.set(bytes, at);
  }

  resize(length: number): void {
    if (length > this.room.length) {
      const larger = new Uint8Array(Math.max(length, this.room.length * 2));
      larger.set(this.bytes);
      this.room = larger;
    } else if (length < this.length) {
      this.room.fill(0, length, this.length);
    }
    this.length = length;
  }
}

type Open = { file: MemoryFile; at: number };

export class Wasi {
  private files = new Map<string, MemoryFile>();
  private open = new Map<number, Open>();
  private memory: WebAssembly.Memory | null = null;

  attach(memory: WebAssembly.Memory): void {
    this.memory = memory;
  }

  addFile(path: string, bytes: Uint8Array): void {
    this.files.set(path, new MemoryFile(bytes));
  }

  private view(): DataView {
    return new DataView(this.memory!.buffer);
  }

  private bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.memory!.buffer, at >>> 0, length);
  }

  private path(at: number, length: number): string {
    return new TextDecoder().decode(this.bytes(at, length)).replace(/^\/+/, "");
  }

  /** Runs move on each of a call's buffers until one is not filled, and puts down how many bytes there were in all. */
  private eachBuffer(list: number, count: number, result: number, move: (part: Uint8Array) => number): number {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const part = this.bytes(this.view().getUint32(list + i * 8, true), this.view().getUint32(list + i * 8 + 4, true));
      const moved = move(part);
      total += moved;
      if (moved < part.length) break;
    }
    this.view().setUint32(result, total, true);
    return OK;
  }

  private read(file: MemoryFile, at: number, to: Uint8Array): number {
    const part = file.bytes.subarray(at, at + to.length);
    to.set(part);
    return part.length;
  }

  private putStat(at: number, type: number, size: number): number {
    this.bytes(at, 64).fill(0);
    this.view().setUint8(at + 16, type);
    this.view().setBigUint64(at + 24, 1n, true);
    this.view().setBigUint64(at + 32, BigInt(size), true);
    return OK;
  }

  private openPath(flags: number, path: string, result: number): number {
    let file = this.files.get(path);
    if (!file && !(flags & CREATE)) return NOT_FOUND;
    if (file && flags & CREATE && flags & EXCLUSIVE) return EXISTS;
    file ??= new MemoryFile();
    this.files.set(path, file);
    if (flags & TRUNCATE) file.resize(0);
    let descriptor = ROOT + 1;
    while (this.open.has(descriptor)) descriptor++;
    this.open.set(descriptor, { file, at: 0 });
    this.view().setUint32(result, descriptor, true);
    return OK;
  }

  /** A stream's text, a line at a time as the library writes it. */
  private print(list: number, count: number, result: number): number {
    let text = "";
    this.eachBuffer(list, count, result, (part) => {
      text += new TextDecoder().decode(part.slice());
      return part.length;
    });
    if (text.trim()) console.warn(text.trimEnd());
    return OK;
  }

  /** The functions of wasi_snapshot_preview1 that our C needs; the linker's list of imports is the list of these. */
  readonly imports = {
    clock_time_get: (clock: number, _precision: bigint, result: number): number => {
      const ms = clock === 0 ? Date.now() : performance.now();
      this.view().setBigUint64(result, BigInt(Math.round(ms * 1e6)), true);
      return OK;
    },
    random_get: (at: number, length: number): number => {
      crypto.getRandomValues(this.bytes(at, length) as Uint8Array<ArrayBuffer>);
      return OK;
    },
    proc_exit: (status: number): never => {
      throw new Error(`The reader ended with status ${status}.`);
    },
    fd_prestat_get: (fd: number, result: number): number => {
      if (fd !== ROOT) return BAD_FILE;
      this.view().setUint32(result, 0, true);
      this.view().setUint32(result + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name: (fd: number, at: number, length: number): number => {
      if (fd !== ROOT || length < 1) return INVALID;
      this.bytes(at, 1)[0] = 0x2f; // "/"
      return OK;
    },
    fd_fdstat_get: (fd: number, at: number): number => {
      if (fd > ROOT && !this.open.has(fd)) return BAD_FILE;
      this.bytes(at, 24).fill(0xff);
      this.view().setUint8(at, fd === ROOT ? DIRECTORY : REGULAR);
      this.view().setUint16(at + 2, 0, true);
      return OK;
    },
    fd_filestat_get: (fd: number, at: number): number => {
      const open = this.open.get(fd);
      return open ? this.putStat(at, REGULAR, open.file.length) : BAD_FILE;
    },
    path_filestat_get: (_fd: number, _flags: number, path: number, length: number, at: number): number => {
      const file = this.files.get(this.path(path, length));
      return file ? this.putStat(at, REGULAR, file.length) : NOT_FOUND;
    },
    path_unlink_file: (_fd: number, path: number, length: number): number =>
      this.files.delete(this.path(path, length)) ? OK : NOT_FOUND,
    path_open: (_fd: number, _look: number, path: number, length: number, flags: number, _rights: bigint, _inherit: bigint,
                _fdflags: number, result: number): number => this.openPath(flags, this.path(path, length), result),
    fd_close: (fd: number): number => (this.open.delete(fd) ? OK : BAD_FILE),
    fd_seek: (fd: number, offset: bigint, whence: number, result: number): number => {
      const open = this.open.get(fd);
      if (!open) return BAD_FILE;
      open.at = Number(offset) + [0, open.at, open.file.length][whence]!;
      this.view().setBigUint64(result, BigInt(open.at), true);
      return OK;
    },
    fd_read: (fd: number, list: number, count: number, result: number): number => {
      const open = this.open.get(fd);
      if (!open) return BAD_FILE;
      return this.eachBuffer(list, count, result, (part) => {
        const got = this.read(open.file, open.at, part);
        open.at += got;
        return got;
      });
    },
    fd_pread: (fd: number, list: number, count: number, offset: bigint, result: number): number => {
      const open = this.open.get(fd);
      if (!open) return BAD_FILE;
      let at = Number(offset);
      return this.eachBuffer(list, count, result, (part) => {
        const got = this.read(open.file, at, part);
        at += got;
        return got;
      });
    },
    fd_write: (fd: number, list: number, count: number, result: number): number => {
      if (fd < ROOT) return this.print(list, count, result);
      const open = this.open.get(fd);
      if (!open) return BAD_FILE;
      return this.eachBuffer(list, count, result, (part) => {
        open.file.write(open.at, part);
        open.at += part.length;
        return part.length;
      });
    },
    fd_pwrite: (fd: number, list: number, count: number, offset: bigint, result: number): number => {
      const open = this.open.get(fd);
      if (!open) return BAD_FILE;
      let at = Number(offset);
      return this.eachBuffer(list, count, result, (part) => {
        open.file.write(at, part);
        at += part.length;
        return part.length;
      });
    },
  };
}
