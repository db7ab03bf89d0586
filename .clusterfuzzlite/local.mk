# SPDX-License-Identifier: MIT
EXTRA_DIST += \
	%D%/Dockerfile \
	%D%/build.sh \
	%D%/project.yaml
