# For tests of what is installed: install_into FOLDER, then compile STANDARD SOURCE LIBRARY PROGRAM against it, as users do.

install_into() { # FOLDER
    installed=$1
    ${MAKE:-make} --no-print-directory install BUILD="${BUILD:-build}" PREFIX=/usr DESTDIR="$installed"
}

# What pkg-config says, of the installed tree only.
package() { # LIBRARY OPTION...
    PKG_CONFIG_PATH="$installed/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$installed" pkg-config "${@:2}" "$1"
}

compiler_of() { # STANDARD
    case $1 in
    c++*) echo "g++ -x c++" ;;
    *) echo "${CC:-gcc}" ;;
    esac
}

compile() { # STANDARD SOURCE LIBRARY PROGRAM
    $(compiler_of "$1") "-std=$1" -Wall -Wextra -Werror $(package "$3" --cflags) "$2" -x none $(package "$3" --libs) \
        "-Wl,-rpath,$installed/usr/lib" -o "$4"
}

# The archive in place of the shared library; what it needs stays shared.
compile_static() { # SOURCE LIBRARY PROGRAM
    "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror $(package "$2" --cflags) "$1" "$installed/usr/lib/lib$2.a" \
        $(package "$2" --libs --static | tr ' ' '\n' | grep -v "^-l$2\$") -o "$3"
}
