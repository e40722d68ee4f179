"""Who held a lock that another thread waited for, and which lock it was."""
import lib


class LockHolder(lib.Case):
    def test_each_wait_names_its_holder(self):
        report = self.profile(lib.program("lock_holder"), options=["-t", "osrt", "-s", "none"])
        holder, waiter, *locks = map(int, self.output.stdout.split()[:5])
        rows = report.rows("""SELECT value, globalTid & 0xffffff, lockHolder & 0xffffff, (lockHolder >> 24) & 0xffffff, returnValue, lockAddress FROM OSRT_API
                              JOIN StringIds ON id = nameId WHERE value LIKE '%lock' ORDER BY start""")
        self.assertEqual(rows, [(name, waiter, holder, holder, 0, lock)
                                for name, lock in zip(("pthread_mutex_lock", "pthread_rwlock_rdlock", "mtx_lock"), locks)])


if __name__ == "__main__":
    lib.main()
