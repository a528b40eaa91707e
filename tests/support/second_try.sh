# Who gets a second try: tests that talk to other processes, whose time is not theirs alone (tests/programs.txt; cases of tests/cli
# that start a broker). It is told: a test that needed it is named in the totals, with what it said at first.

# may_try_again STATUS FILE...: of what it said. No second try hides a crash, a race or an assertion that did not hold.
may_try_again() {
    local status=$1
    shift
    case $status in
    132 | 134 | 135 | 136 | 139) return 1 ;;
    esac
    ! grep -qaE 'Sanitizer|runtime error:|: Assertion .* failed' "$@"
}
