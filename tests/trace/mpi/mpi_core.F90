! Calls of MPI from Fortran with their ledger (mpi_ledger.h says what that is), by three bindings: mpif.h, -DUSE_MPI for
! "use mpi", -DUSE_F08 for "use mpi_f08". For an even number of ranks.
#ifdef USE_F08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#else
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
program core
#if defined(USE_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use iso_c_binding
  implicit none
#if !defined(USE_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  interface
    function getpid() bind(c)
      import c_int
      integer(c_int) :: getpid
    end function
  end interface
  integer, parameter :: none = -1000000
  integer :: rank, ranks, partner, code, i, buffer(64), other(64), length
  logical :: flag
  HANDLE(MPI_Comm) :: copy, half
  HANDLE(MPI_Request) :: requests(2)
  HANDLE(MPI_Datatype) :: blocks
  STATUS :: arrived
  character(4096) :: path
  character(64) :: world, halves, number

  call get_environment_variable('MPI_LEDGER', path, length)
  if (length == 0) path = '/dev/null'
  write(number, '(i0)') getpid()
  if (length > 0) path = trim(path) // '.' // number
  open(unit=10, file=trim(path), action='write')
  call MPI_Init(code)
  call note('other', 'MPI_Init', none, none, none, none, none, '-')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call note('other', 'MPI_Comm_rank', none, none, none, none, none, '-')
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call note('other', 'MPI_Comm_size', none, none, none, none, none, '-')
  call write_members(world, 0, 1)
  write(10, '(a,a,i0,a,i0,a,a)') 'rank', char(9), rank, char(9), ranks, char(9), trim(world)
  partner = ieor(rank, 1)
  buffer = rank

  call messages()
  call collectives()
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
  call note('other', 'MPI_Comm_dup', none, none, none, none, none, '-')
  call MPI_Barrier(copy, code)
  call note('collective', 'MPI_Barrier', none, none, none, none, none, world)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, code)
  call note('other', 'MPI_Comm_split', none, none, none, none, none, '-')
  call write_members(halves, mod(rank, 2), 2)
  call MPI_Bcast(other, 3, MPI_INTEGER, 0, half, code)
  if (rank / 2 == 0) call note('collective', 'MPI_Bcast', 12, 0, none, none, 0, halves)
  if (rank / 2 /= 0) call note('collective', 'MPI_Bcast', 0, 12, none, none, 0, halves)
  call MPI_Comm_free(half, code)
  call note('other', 'MPI_Comm_free', none, none, none, none, none, '-')
  call MPI_Comm_free(copy, code)
  call note('other', 'MPI_Comm_free', none, none, none, none, none, '-')
  call MPI_Finalize(code)
  call note('other', 'MPI_Finalize', none, none, none, none, none, '-')
  close(10)

contains

  subroutine messages()
    do i = 0, 1
      if (mod(rank, 2) == i) then
        call MPI_Send(buffer, 5, MPI_INTEGER, partner, 1, MPI_COMM_WORLD, code)
        call note('p2p', 'MPI_Send', 20, none, partner, 1, none, world)
        call MPI_Ssend(buffer, 6, MPI_DOUBLE_PRECISION, partner, 2, MPI_COMM_WORLD, code)
        call note('p2p', 'MPI_Ssend', 48, none, partner, 2, none, world)
        call MPI_Send(buffer, 2, MPI_INTEGER, partner, 3, MPI_COMM_WORLD, code)
        call note('p2p', 'MPI_Send', 8, none, partner, 3, none, world)
      else
        call MPI_Recv(other, 64, MPI_INTEGER, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        call note('p2p', 'MPI_Recv', 20, none, partner, 1, none, world)
        call MPI_Recv(other, 32, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, arrived, code)
        call note('p2p', 'MPI_Recv', 48, none, partner, 2, none, world)
        call MPI_Probe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, arrived, code)
        call note('p2p', 'MPI_Probe', 8, none, partner, 3, none, world)
        call MPI_Recv(other, 64, MPI_INTEGER, partner, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        call note('p2p', 'MPI_Recv', 8, none, partner, 3, none, world)
      end if
    end do
    call MPI_Irecv(other, 64, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), code)
    call note('p2p', 'MPI_Irecv', 28, none, partner, 4, none, world)
    call MPI_Isend(buffer, 7, MPI_INTEGER, partner, 4, MPI_COMM_WORLD, requests(2), code)
    call note('p2p', 'MPI_Isend', 28, none, partner, 4, none, world)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    call note('wait', 'MPI_Waitall', none, none, none, none, none, '-')
    call MPI_Irecv(other, 64, MPI_INTEGER, partner, 5, MPI_COMM_WORLD, requests(1), code)
    call note('p2p', 'MPI_Irecv', 32, none, partner, 5, none, world)
    call MPI_Send(buffer, 8, MPI_INTEGER, partner, 5, MPI_COMM_WORLD, code)
    call note('p2p', 'MPI_Send', 32, none, partner, 5, none, world)
    flag = .false.
    length = -1
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, code)
      length = length + 1
    end do
    if (length > 0) write(10, '(a,a,a,a,i0)') 'poll', char(9), 'MPI_Test', char(9), length
    call note('wait', 'MPI_Test', none, none, none, none, none, '-')
    call MPI_Sendrecv(buffer, 9, MPI_INTEGER, partner, 6, other, 64, MPI_INTEGER, partner, 6, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, code)
    call note('p2p', 'MPI_Sendrecv', 36, none, partner, 6, none, world)
    call MPI_Send(buffer, 9, MPI_INTEGER, MPI_PROC_NULL, 7, MPI_COMM_WORLD, code)
    call note('p2p', 'MPI_Send', 36, none, none, 7, none, world)
    call persistent()
  end subroutine

  subroutine persistent()
    call MPI_Type_vector(3, 2, 4, MPI_INTEGER, blocks, code)
    call note('other', 'MPI_Type_vector', none, none, none, none, none, '-')
    call MPI_Type_commit(blocks, code)
    call note('other', 'MPI_Type_commit', none, none, none, none, none, '-')
    call MPI_Send_init(buffer, 2, blocks, partner, 8, MPI_COMM_WORLD, requests(1), code)
    call note('p2p', 'MPI_Send_init', 48, none, partner, 8, none, world)
    call MPI_Recv_init(other, 64, MPI_INTEGER, partner, 8, MPI_COMM_WORLD, requests(2), code)
    call note('p2p', 'MPI_Recv_init', none, none, partner, 8, none, world)
    do i = 1, 3
      call MPI_Startall(2, requests, code)
      call note('wait', 'MPI_Startall', none, none, none, none, none, '-')
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
      call note('wait', 'MPI_Waitall', none, none, none, none, none, '-')
    end do
    do i = 1, 2
      call MPI_Request_free(requests(i), code)
      call note('wait', 'MPI_Request_free', none, none, none, none, none, '-')
    end do
    call MPI_Type_free(blocks, code)
    call note('other', 'MPI_Type_free', none, none, none, none, none, '-')
  end subroutine

  subroutine collectives()
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call note('collective', 'MPI_Barrier', none, none, none, none, none, world)
    call MPI_Bcast(other, 6, MPI_INTEGER, 1, MPI_COMM_WORLD, code)
    if (rank == 1) call note('collective', 'MPI_Bcast', 24, 0, none, none, 1, world)
    if (rank /= 1) call note('collective', 'MPI_Bcast', 0, 24, none, none, 1, world)
    call MPI_Allreduce(buffer, other, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call note('collective', 'MPI_Allreduce', 32, 32, none, none, none, world)
    call MPI_Allreduce(MPI_IN_PLACE, other, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call note('collective', 'MPI_Allreduce', 12, 12, none, none, none, world)
    call MPI_Gather(buffer, 3, MPI_INTEGER, other, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    if (rank == 0) call note('collective', 'MPI_Gather', 12, 12 * ranks, none, none, 0, world)
    if (rank /= 0) call note('collective', 'MPI_Gather', 12, 0, none, none, 0, world)
    call MPI_Alltoall(buffer, 2, MPI_INTEGER, other, 2, MPI_INTEGER, MPI_COMM_WORLD, code)
    call note('collective', 'MPI_Alltoall', 8 * ranks, 8 * ranks, none, none, none, world)
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), code)
    call note('collective', 'MPI_Ibarrier', none, none, none, none, none, world)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
    call note('wait', 'MPI_Wait', none, none, none, none, none, '-')
  end subroutine

  subroutine write_members(out, first, step)
    character(*), intent(out) :: out
    integer, intent(in) :: first, step
    character(16) :: text
    integer :: at
    out = ''
    do at = first, ranks - 1, step
      write(text, '(i0)') at
      if (at > first) out = trim(out) // ','
      out = trim(out) // text
    end do
  end subroutine

  subroutine note(table, name, bytes, received, peer, tag, root, members)
    character(*), intent(in) :: table, name, members
    integer, intent(in) :: bytes, received, peer, tag, root
    integer :: values(5), at
    character(256) :: line
    character(16) :: text
    line = table // char(9) // name
    values = [bytes, received, peer, tag, root]
    do at = 1, 5
      text = '-'
      if (values(at) /= none) write(text, '(i0)') values(at)
      line = trim(line) // char(9) // text
    end do
    write(10, '(a,a,a)') trim(line), char(9), trim(members)
  end subroutine
end program
