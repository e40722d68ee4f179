"""Who held a lock that another thread waited for."""
import lib


class LockHolder(lib.Case):
    def test_each_wait_names_its_holder(self):
        report = self.profile(lib.program("lock_holder"), options=["-t", "osrt", "-s", "none"])
        holder, waiter = map(int, self.output.stdout.split()[:2])
        rows = report.rows("""SELECT value, globalTid & 0xffffff, lockHolder & 0xffffff, (lockHolder >> 24) & 0xffffff, returnValue FROM OSRT_API
                              JOIN StringIds ON id = nameId WHERE value LIKE '%lock' ORDER BY start""")
        self.assertEqual(rows, [("pthread_mutex_lock", waiter, holder, holder, 0), ("pthread_rwlock_rdlock", waiter, holder, holder, 0),
                                ("mtx_lock", waiter, holder, holder, 0)])


if __name__ == "__main__":
    lib.main()
