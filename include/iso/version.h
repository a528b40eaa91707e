/* The product's version, printed by `--version` and carried in every JSON verdict. */
#ifndef ISO_VERSION_H
#define ISO_VERSION_H

#define ISO_VERSION "0.1.0"
#define ISO_VERSION_NUMBER 100 /* the same as a number: major * 10000 + minor * 100 + patch */

#endif
